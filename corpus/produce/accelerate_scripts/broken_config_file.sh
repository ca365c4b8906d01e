# /// case
# cause = "config"
# paper_class = "traceback"
# exit_code = 1
# ///
# The YAML file of the launcher was written for another version: unknown keys.
cat > default_config.yaml << 'EOF'
compute_environment: LOCAL_MACHINE
distributed_type: 'NO'
mixed_precision: 'no'
num_machines: 1
num_processes: 1
use_cpu: true
tpu_cluster_name_prefix: null
megatron_plugin: {}
EOF
echo "print('training')" > finetune.py
accelerate launch --config_file default_config.yaml finetune.py

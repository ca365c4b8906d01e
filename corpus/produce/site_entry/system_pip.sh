# /// case
# cause = "permission"
# exit_code = 2
# needs = ["root"]
# why = "pip may not write into the environment"
# ///
# The start script installs the project into an environment that it may not write to.
mkdir -p wheelhouse/pkg env/site
cat > wheelhouse/pkg/pyproject.toml <<'EOS'
[project]
name = "speechkit-recipes"
version = "0.3"
[build-system]
requires = ["setuptools"]
build-backend = "setuptools.build_meta"
EOS
touch wheelhouse/pkg/speechkit_recipes.py
chmod 555 env/site
cat > start.sh <<'EOS'
set -e
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore
python -m pip install --no-index --no-build-isolation --no-deps --target env/site ./wheelhouse/pkg
PYTHONPATH=env/site python -c "import speechkit_recipes; print('training')"
EOS
setpriv --bounding-set=-dac_override,-dac_read_search,-fowner bash start.sh

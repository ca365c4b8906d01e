# /// case
# cause = "permission"
# exit_code = 1
# needs = ["root"]
# ///
# The folder for the checkpoints belongs to someone else and may not be written.
mkdir -p shared/checkpoints && chmod 555 shared/checkpoints
cat > fit.py << 'PROGRAM'
import lightning as L
from lightning.pytorch.callbacks import ModelCheckpoint, TQDMProgressBar
from lightning.pytorch.demos.boring_classes import BoringModel

L.seed_everything(0)
trainer = L.Trainer(
    max_epochs=3,
    accelerator="cpu",
    limit_train_batches=20,
    limit_val_batches=2,
    logger=False,
    callbacks=[ModelCheckpoint("shared/checkpoints/boring"), TQDMProgressBar(refresh_rate=10)],
)
trainer.fit(BoringModel())
PROGRAM
exec setpriv --bounding-set=-dac_override,-dac_read_search,-fowner python fit.py

# /// case
# cause = "config"
# paper_class = "traceback"
# exit_code = 1
# environment = "jax"
# env = {KERAS_BACKEND = "tensorflow", TF_CPP_MIN_LOG_LEVEL = "2"}
# why = "two options that only go together: validation_split without subset"
# ///
"""A split is asked for without saying which part is wanted."""

from pathlib import Path

import keras

for name in ("daisy", "rose"):
    folder = Path("flowers") / name
    folder.mkdir(parents=True)
    for i in range(6):
        (folder / f"{i}.bmp").write_bytes(b"BM" + bytes(900))
train = keras.utils.image_dataset_from_directory(
    "flowers", image_size=(16, 16), batch_size=4, validation_split=0.25, seed=123
)
model = keras.Sequential(
    [keras.layers.Rescaling(1 / 255), keras.layers.Flatten(), keras.layers.Dense(2)]
)
model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
model.fit(train, epochs=2)

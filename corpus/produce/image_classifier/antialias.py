# /// case
# cause = "dependency"
# paper_class = "traceback"
# exit_code = 1
# why = "Pillow took the constant away, so the installed version does not fit the program"
# ///
"""A constant that newer versions of Pillow no longer have."""

import numpy as np
import PIL
import torch
from PIL import Image


class Resize:
    def __init__(self, size, interpolation=None):
        self.size = size
        self.interpolation = interpolation or Image.ANTIALIAS

    def __call__(self, image):
        return image.resize(self.size, self.interpolation)


def get_transform(size):
    resize = Resize((size, size))
    return lambda image: torch.tensor(np.asarray(resize(image)))


print(f"PyTorch {torch.__version__} Pillow {PIL.__version__} NumPy {np.__version__}")
print("=> creating model 'resnet50'")
print("=> using pretrained weights: False")
transform = get_transform(224)
print(transform(Image.new("RGB", (300, 200))).shape)

# /// case
# cause = "none"
# exit_code = 0
# why = "warnings about convergence, division by zero and ill-defined scores; the models are fitted and saved"
# ///
"""Models are fitted among many warnings; all are saved in the end."""

import logging
import pickle

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import classification_report
from sklearn.neural_network import MLPClassifier

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
rng = np.random.default_rng(0)
frame = pd.DataFrame(rng.normal(size=(300, 6)), columns=list("abcdef"))
frame["ratio"] = np.log(frame.a.where(frame.a > 0, 0)).replace([np.inf, -np.inf], 0).fillna(0)
frame["zero"] = (np.array([1.0, 0.0]) / np.array([0.0, 0.0]))[0] * 0
frame = frame.drop(columns="zero")
y = (frame.b + frame.c > 2.4).astype(int) + (frame.d > 2.9)
for name, model in {
    "logistic": LogisticRegression(max_iter=3),
    "mlp": MLPClassifier(max_iter=8, verbose=True),
}.items():
    model.fit(frame, y)
    print(classification_report(y, model.predict(frame)))
    with open(f"{name}.pkl", "wb") as file:
        pickle.dump(model, file)
    logging.info("%s saved, training error rate %.3f", name, 1 - model.score(frame, y))
logging.info("all models trained, no failures")

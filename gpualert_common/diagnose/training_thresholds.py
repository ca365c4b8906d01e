"""Thresholds by which the losses and the steps of a training are judged, family E."""

from __future__ import annotations

from gpualert_common.diagnose.threshold import CALIBRATED, Threshold

LEAST_LOSS = Threshold(
    1e-3, "(the first loss)", "noise is a multiple of a loss that starts near zero"
)
NO_GRADIENT = Threshold(1e-6, "(the gradient's norm)", "smaller values do not change weights")
NO_RATE = Threshold(1e-12, "(the learning rate)", "smaller values do not change weights")
DIVERGED_RATIO = Threshold(
    1.5,
    "times the loss of the first quarter",
    "a model whose loss ends 50 % above its start has not learned",
    CALIBRATED,
)
STILL_UP = Threshold(
    0.8,
    "of the rise to the peak, in orders of magnitude",
    "a loss that fell from its peak recovers: harder data, or a restarted learning rate",
    CALIBRATED,
)
FLAT_RANGE = Threshold(
    0.01, "of the first loss", "the noise of mini-batches is larger while a model learns"
)
LEAST_POINTS = Threshold(20.0, "logged losses", "quartiles of fewer are single numbers", CALIBRATED)
TREND_CHANCE = Threshold(
    0.002,
    "probability of a trend by chance",
    "together with the test of the start, less than 1 % of flat series pass",
    "Mann-Kendall test; measured by tests/diagnose/test_trend.py",
)
LEAST_FALL = Threshold(
    0.001, "of the first third", "a drift of less is no learning, however certain"
)
FEWEST_POINTS = Threshold(
    5.0,
    "logged losses",
    "each order of four losses has a chance of 1 in 24",
    "Mann-Kendall test, exact",
)
SHORT_TREND_CHANCE = Threshold(
    0.01,
    "probability of a trend by chance",
    "only the strict fall of five losses has so little: 1 in 120",
    "Mann-Kendall test, exact",
)
SHORT_FALL = Threshold(
    0.2,
    "of the first third",
    "with noise of 5 % of the level at most 3 in 1,000 flat series of a kind pass; with noise of "
    "10 %, 1 % of independent ones and 4 % of running means",
    "ours; measured by tests/diagnose/test_trend.py",
)
SHORT_NOISES = Threshold(
    7.0,
    "deviations of the noise from step to step",
    "a single high loss before a level has at most 5, a loss that halves in each step 14",
    "ours; measured by tests/diagnose/test_trend.py",
)
BLOCK_CORRELATIONS = Threshold(
    2.0,
    "correlation times of the noise",
    "medians of longer blocks are almost independent",
    "ours; measured by tests/diagnose/test_trend.py",
)
MOST_CORRELATION = Threshold(
    0.97, "correlation of neighbours", "beyond it no series is long enough to know the noise"
)
START_SPREADS = Threshold(
    6.0,
    "spreads of the second half",
    "noise that depends on its neighbours stays below, also for the first three together",
    "ours; measured by tests/diagnose/test_trend.py",
)
CHANCE_DISTANCE = Threshold(
    0.01, "of ln C", "a model that learned the frequencies of its classes is further away"
)
CHANCE_ACCURACY = Threshold(
    0.2, "of 1/C", "the accuracy of guessing on some hundred samples varies by less"
)
CHANCE_POINTS = Threshold(
    5.0, "losses with an accuracy", "two numbers that agree on guessing, in each of five epochs"
)
CHANCE_STEPS = Threshold(
    100.0, "steps", "a test, or a warm-up, of fewer steps may not leave the chance level"
)
STEPS_OF_MEANT = Threshold(
    0.1,
    "of the planned steps",
    "a run that exits with 0 after a tenth of its steps, without a checkpoint there, was cut short",
)
LEAST_EVALUATIONS = Threshold(
    2.0, "evaluations", "an early stop compares two evaluations", CALIBRATED
)
LEAST_STEPS = Threshold(
    10.0, "steps", "no training is planned for less than ten steps", "Grogh; ours for the number"
)
STEPS_OF_BEFORE = Threshold(
    0.01,
    "of an earlier run's steps",
    "the same command does not end a hundred times sooner",
    CALIBRATED,
)
FEWER_THAN_BEFORE = Threshold(
    0.1,
    "of an earlier run's steps",
    "without a planned number of steps: daily changes of the amount of data do not explain less",
    CALIBRATED,
)
LEVEL_LOSSES = Threshold(
    5.0, "losses", "the level of the loss at a change of training is their median"
)
GOES_ON_LOSS_JUMP = Threshold(
    1.5,
    "times the last loss before",
    "a resumed training starts near its last loss; a new one starts far above it",
)

"""Words of programs about their work: its end and its results, and what they did without."""

from __future__ import annotations

from typing import Final

from gpualert_common.regex import compile_bytes, compile_text

TRAINING_DONE: Final = compile_bytes(
    rb"(?i)\b(?:training|fine-?tuning|pre-?training|fitting|optimi[sz]ation|experiment)\b"
    rb"(?: \w+){0,2}? (?:is |was |has )?(?:now )?"
    rb"(?:done|completed?|finished|over|ended (?:success\w*|with (?:exit )?(?:status|code) 0))\b"
    rb"|\b(?:finished|completed|done with|end of) (?:the )?(?:training|fine-?tuning|fitting)\b"
    rb"|`?Trainer\.fit`? stopped: `?max_"
    rb"|\b(?:exited with|ended|exit(?:ed)?|return(?:ed)?) \W?(?:code|status|return code):? ?0\b"
    rb"|\bexit(?:s|ed) successfully\b"
    rb"|\ball (?:epochs|steps|folds|stages) (?:done|completed?|finished)"
)
"""Words of a program about the end of its training."""

RESULT: Final = compile_bytes(
    rb"(?i)\b(?:saved|wrote|written|exported|saving)\b.{0,80}"
    rb"(?:model|checkpoint|ckpt|weights|adapter|state_dict|\.pth?\b|\.safetensors|\.onnx|\.keras|\.h5)"
    rb"|(?:model|checkpoint|weights|adapter)\b.{0,60}\b(?:saved|written|exported)\b"
    rb"|\b(?:model|checkpoint|weights|adapter|artifacts?)\b.{0,20}(?:\bin|\bto|\bat|->|:) \S+"
    rb"\.(?:pth?|ckpt|safetensors|bin|onnx|keras|h5|np[yz]|pkl|joblib|msgpack)\b"
    rb"|['\"]train_runtime['\"]|\*{5} (?:train|eval|test|predict) metrics \*{5}"
    rb"|Test metric +DataLoader|^OK(?: \(|\s*$)|\b[1-9]\d* passed\b"
    rb"|\b(?:final|best|test|eval|evaluation|validation|val)[ _-](?:\w+[ _-]){0,2}"
    rb"(?:loss|acc(?:uracy)?|f1|auc|bleu|wer|perplexity|ppl|mse|rmse|mae|map|miou|score|reward|return)"
    rb"\b\D{0,12}\d"
)
"""A result of a program: a saved model, a final score, tests that passed."""

SUCCESS: Final = compile_bytes(rb"(?i)\bsuccess\w*")
"""Words of a launcher about a run whose workers it stopped in the end."""

OUTCOME: Final = compile_bytes(
    rb"(?i)\b(?:sav(?:e|ed|ing)|wrote|written|writing|exported|extracted|stored|uploaded|success\w*|succeeded)\b"
)
"""An outcome of whatever work."""

NEGATION: Final = compile_bytes(rb"(?i)\b(?:no|not|none|nothing|never|without|0)\b")
"""Words that turn an outcome into none."""

STEP: Final = compile_bytes(
    rb"(?i)(?:^|[^-\w]|[^-]-)(?:global_?)?(?:step|iter|iteration|epoch|batch)s?\b"
    rb"[ :=#\[(]{0,3}\d{1,12}[^\r\n]{0,200}?\d\.\d|['\"](?:loss|eval_loss|epoch)['\"]: ['\"]?\d"
    rb"|\b(?:update|round|episode|ep)s?\b[ :=#\[(]{0,3}\d{1,12}[^\r\n]{0,200}?"
    rb"(?:loss|acc|auc|score|reward|return|rmse|mse|f1|ppl)\w{0,12}\W{1,3}\d"
    rb"|\btrial \d{1,9} (?:finished|complete)"
)
"""A step with its result.  Attempts have rounds and updates, too, but no score, and
options of a command have two hyphens.
"""

NUMBER: Final = compile_bytes(
    rb"(?i)(?:^|[\s=|(\[{>]|['\"a-z_)\]%]:)[-+]?\d{1,9}(?:\.\d+(?:e[-+]?\d+)?|e-\d+)"
    rb"(?:$|[^\w./:-]|\.?$)"
)
"""A number that a program computed: it has decimals, and is no address or version."""

COUNT: Final = compile_bytes(rb"(?:^|[\s=:(\[,])[1-9][\d,]{0,12}(?:$|[^\w.:/,-])")
"""A number of items, at least one."""

QUANTITY: Final = compile_bytes(
    rb"(?i)\b\d[\d.,]* ?(?:[mun]?s|secs?|seconds?|m|mins?|minutes?|h|hours?|days?|fps"
    rb"|bytes?|[kmgt]i?b(?:/s|ytes?)?)\b"
    rb"|\b(?:took|in|after|time|elapsed|lr|version|python|cuda|torch|speedup is)[ :=]{1,3}[\d.:,]+"
)
"""A time, a size or a setting."""

OF: Final = compile_bytes(
    rb"(?i)\b(?:global_?)?(?:step|iter|iteration|epoch|batch)s?\b"
    rb"[ :=#\[(]{0,3}(\d{1,9}) ?(?:/|of) ?(\d{1,9})|\b(\d{1,9})/(\d{1,9}) \[\d+:\d\d"
    rb"|\b(?:update|round|episode|ep)s?\b[ :=#\[(]{0,3}(\d{1,9}) ?(?:/|of) ?(\d{1,9})\b"
    rb"[^\r\n]{0,200}?(?:loss|acc|auc|score|reward|return|rmse|mse|f1|ppl)"
)
"""A step of a known number of steps."""

NOT_OWN: Final = compile_bytes(
    rb"^\+{1,4} |\b(?:exit(?:ed)?|return) (?:status|code)\b|\bEXIT_CODE\b"
    rb"|^make(?:\[\d+\])?: |^wandb: "
)
"""A line of a shell, make or a tracker at its end, which they write after a failure, too."""

TROUBLE: Final = compile_bytes(
    rb"(?i)fail|error|\babort|\bstopp?ed|interrupt|crash|\bdied\b|\bnan\b|\blast\b|resum|cancel"
    rb"|g[ia]v(?:e|ing) up|emergency|partial|rescue|so far|^\W*0 of \d"
    rb"|\b(?:cannot|can't|could not|couldn't|unable)\b"
)
"""A line about how far the training came when it failed, rather than about its result."""

NO_TROUBLE: Final = compile_bytes(
    rb"(?i)\berr(?:or)?(?:[_ -]?\w+)?['\"]?\s{0,3}[:=]?\s{0,3}\d{1,6}(?:\.\d|e-)"
    rb"|(?:^|[,;:(/|]|\band) ?\b0 (?:\w+ )?(?:errors?|fail\w*|abort\w*)"
    rb"|\b(?:errors?|failed|failures)['\"]?[:=]?\s{0,3}(?:0\b|\[\])"
)
"""An error that is a measured value, and failures that are none."""

HANDLED: Final = compile_bytes(
    rb"(?i)\b(?:skipp(?:ed|ing)|ignor(?:ed|ing)|non-?fatal"
    rb"|left out|leaving out|omitt(?:ed|ing)|using \S.{0,60} instead"
    rb"|continuing (?:with|without|anyway|training))\b"
)
"""Words of a program that does without what failed."""

ANSWER: Final = compile_bytes(
    rb"(?i)\b(?:retrying|falling back|fallback|will (?:be )?retr(?:y|ied)|(?:try|trying) again"
    rb"|restarting|instead|(?:start\w*|begin\w*) (?:again|fresh|anew|new|from scratch)"
    rb"|(?:using|use) (?:the )?defaults?)\b"
)
"""Words of a program that takes another way, or tries again."""

WARNING: Final = compile_bytes(rb"\bWARN(?:ING)?\b|^\[?W\d{4} |^\[W ")
"""A record of a logger about a failure that its program can do without."""

RECORD: Final = compile_bytes(rb"\b(?:ERROR|CRITICAL|EXCEPTION|WARN(?:ING)?)\b|^\[?[EW]\d{4} ")
"""A record of a logger about an exception, which no program writes of one that it did not catch."""

SIDE_PLACE: Final = compile_text(
    r"(?i)/(?:wandb|mlflow|huggingface_hub|matplotlib|seaborn|plotly|comet_ml|neptune|clearml|trackio|aim|boto3|botocore|fsspec"
    r"|tensorboard\w*|google/cloud|azure|slack_sdk|paramiko)/|/(?:smtplib|ftplib|atexit|shutil|webbrowser)\.py:"
    r"|:_?(?:\w+_)?(?:upload|push|notify|publish|sync|cleanup|clean_up|teardown|shutdown|close|report|plot"
    r"|send|log|e?mail|archive|backup|copy)(?:_\w+)?$"
)
"""A place in a program outside the training: trackers, uploads, messages, cleaning up."""

ENTRY_PLACE: Final = compile_text(r":_*(?:main|run|cli|app|entry_?point)_*$")
"""The function of a program that does all of its work."""

TRAINING_PLACE: Final = compile_text(
    r":_*(?:inner_|start_|run_|do_)?(?:train|training|fit|learn)"
    r"(?:_(?:step|loop|epoch|one_epoch|worker|batch|model|fn|func|process))?$|:_*run_epoch$"
)
"""A function that trains: an exception that leaves it has ended it."""

LIBRARY_PLACE: Final = compile_text(r"/(?:site|dist)-packages/|/lib/python\d")
"""A place in a library, rather than in the program."""

SAVING_PLACE: Final = compile_text(
    r":_*save(?:_(?:model|checkpoint|pretrained|weights|state(?:_dict)?))?$|/torch/serialization\.py:"
)
"""A function that saves a model."""

FATAL: Final = compile_bytes(
    rb"(?i)\b(?:training|trainer|run|job|experiment|main)\b.{0,30}\b(?:fail|crash|abort|error|died|broke)"
    rb"|\b(?:fatal|unhandled|uncaught)\b"
)
"""A record about the end of the whole program."""

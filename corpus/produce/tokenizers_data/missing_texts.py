# /// case
# cause = "data"
# paper_class = "traceback"
# exit_code = 1
# why = "some texts are missing in the table (NaN instead of a string)"
# ///
"""Empty cells of a table reach the tokenizer as NaN."""

import io

import pandas as pd
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

TABLE = "id,comment\n" + "\n".join(f"{i},{'' if i == 23 else 'fine by me'}" for i in range(40))
frame = pd.read_csv(io.StringIO(TABLE), dtype={"comment": object})
print(frame.info())
core = Tokenizer(models.WordLevel({"<unk>": 0, "fine": 1, "by": 2, "me": 3}, unk_token="<unk>"))
core.pre_tokenizer = pre_tokenizers.Whitespace()
tokenizer = PreTrainedTokenizerFast(tokenizer_object=core, unk_token="<unk>")
encodings = tokenizer(frame["comment"].tolist(), truncation=True, max_length=8)
print(len(encodings["input_ids"]))

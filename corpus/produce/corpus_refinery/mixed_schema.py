# /// case
# cause = "data"
# exit_code = 1
# paper_class = "traceback"
# why = "a document has a list where the others have a number"
# ///
"""The documents of one crawl have a list in a column of numbers."""

import random

import pyarrow as pa
import pyarrow.parquet as pq

random.seed(2)


def crawl(name, count):
    for i in range(count):
        stars = random.randint(0, 5)
        yield {"url": f"http://{name}/{i}", "stars": [stars] if name == "c" and i == 31 else stars}


schema = pa.schema([("url", pa.string()), ("stars", pa.int32())])
with pq.ParquetWriter("docs.parquet", schema, compression="zstd") as writer:
    for name in "abcd":
        rows = list(crawl(name, 64))
        table = pa.Table.from_pylist(rows, schema=schema)
        writer.write_table(table)
        print(f"crawl {name}: {table.num_rows} rows, {table.nbytes} bytes", flush=True)
print("closed docs.parquet")

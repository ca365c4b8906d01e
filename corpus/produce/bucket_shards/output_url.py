# /// case
# cause = "config"
# paper_class = "traceback"
# exit_code = 1
# environment = "storage"
# env = {AWS_ACCESS_KEY_ID = "testing", AWS_SECRET_ACCESS_KEY = "testing"}
# why = "the name of the bucket in the settings breaks the rules for names: a value that boto3 refuses before any request"
# ///
"""The output of the run is given as an URL where the name of a bucket is expected."""

import dataclasses
import json

import boto3
import torch


@dataclasses.dataclass
class Output:
    bucket: str = "s3://team-nlp/models"
    prefix: str = "tagger"
    keep: int = 3


def fit(steps):
    torch.manual_seed(0)
    model = torch.nn.Linear(20, 5)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.02)
    x, y = torch.randn(200, 20), torch.randint(0, 5, (200,))
    for step in range(steps):
        loss = torch.nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            print(json.dumps({"step": step, "loss": round(loss.item(), 4)}))
    return model, loss.item()


def publish(model, output, metrics):
    torch.save(model.state_dict(), "tagger.pt")
    client = boto3.client("s3", region_name="us-east-1", endpoint_url="http://127.0.0.1:9")
    client.put_object(
        Bucket=output.bucket, Key=f"{output.prefix}/metrics.json", Body=json.dumps(metrics).encode()
    )
    client.upload_file("tagger.pt", output.bucket, f"{output.prefix}/tagger.pt")


if __name__ == "__main__":
    output = Output()
    print(output)
    model, loss = fit(40)
    publish(model, output, {"loss": loss})
    print("published")

# /// case
# cause = "traceback"
# exit_code = 0
# why = "a NameError behind a pipe into tee: the status of the pipe is that of tee"
# ///
# A traceback stands behind a pipe into tee, which ends with status 0.
cat > train.py <<'EOF'
import torch


def main(epochs=3):
    model = torch.nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(epochs):
        x = torch.randn(64, 4)
        loss = torch.nn.functional.cross_entropy(model(x), (x[:, 0] > 0).long())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"epoch {epoch} loss {loss.item():.4f}")
    print(f"best accuracy {best_acc:.3f}")


main()
EOF
python train.py 2>&1 | tee -a out.log
echo "log written to out.log ($(wc -l < out.log) lines)"

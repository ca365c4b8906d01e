# /// case
# cause = "too_many_files"
# paper_class = "traceback"
# exit_code = 1
# ///
# Every environment of the simulation needs two pipes, and the limit of the shell is low.
ulimit -n 48
cat > vec_env.py <<'EOF'
import multiprocessing as mp


def simulate(connection):
    state = 0
    while (action := connection.recv()) is not None:
        state += action
        connection.send(state)


class VectorEnv:
    def __init__(self, n):
        self.pipes = []
        for i in range(n):
            mine, theirs = mp.Pipe()
            mp.Process(target=simulate, args=(theirs,), daemon=True).start()
            self.pipes.append((mine, theirs))
        print(f"{n} environments ready", flush=True)

    def step(self, action):
        for mine, _ in self.pipes:
            mine.send(action)
        return [mine.recv() for mine, _ in self.pipes]


if __name__ == "__main__":
    for n in (4, 8, 32):
        print("returns", sum(VectorEnv(n).step(1)), flush=True)
EOF
python vec_env.py

# /// case
# cause = "traceback"
# exit_code = 1
# why = "the parent's EOFError follows from the IndexError in the process of the environment"
# ///
"""The process of an environment dies of an IndexError; the learner only sees the end of its pipe."""

import multiprocessing as mp


class Maze:
    GRID = ["#####", "#s..#", "#.#.#", "#..g#"]

    def __init__(self):
        self.row = self.column = 1

    def step(self, action):
        row = self.row + (action == "down") - (action == "up")
        column = self.column + (action == "right") - (action == "left")
        if self.GRID[row][column] != "#":
            self.row, self.column = row, column
        return self.row, self.column, self.GRID[self.row][self.column] == "g"


def serve(pipe):
    maze = Maze()
    while True:
        pipe.send(maze.step(pipe.recv()))


def main():
    mine, theirs = mp.Pipe()
    mp.Process(target=serve, args=(theirs,), daemon=True, name="env-0").start()
    theirs.close()
    for step, action in enumerate(["right", "left", "down", "down", "down", "right", "right"]):
        mine.send(action)
        print(step, action, mine.recv(), flush=True)


if __name__ == "__main__":
    main()

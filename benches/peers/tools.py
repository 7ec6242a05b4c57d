"""What the comparison shows itself with: a progress bar and plots, from libraries in an environment of their own.

Neither changes a figure. Without them progress is one line per step and there are no plots; the report says so.
"""

import site
import sys
import sysconfig

from peers import VENVS, install

REQUIREMENTS = "matplotlib==3.11.2 tqdm==4.70.1"


def ready():
    """Installs the libraries and makes them importable; raises `CommandFailed` where that cannot be."""
    venv = VENVS / "tools"
    install(venv, REQUIREMENTS)
    # Made by this very interpreter, so its packages are ours to load.
    site.addsitedir(sysconfig.get_path("purelib", vars={"base": str(venv), "platbase": str(venv)}))


class Progress:
    """A bar on a terminal, otherwise one line per step; on standard error, so that tables can be redirected."""

    def __init__(self, total):
        self.total, self.done, self.bar = total, 0, None
        if sys.stderr.isatty():
            try:
                from tqdm import tqdm
                self.bar = tqdm(total=total, file=sys.stderr, leave=False, dynamic_ncols=True,
                                bar_format="{bar:30} {n_fmt}/{total_fmt} {elapsed}<{remaining} {desc}")
            except ImportError:
                pass

    def step(self, doing):
        """Shows what begins now; counts it as done from the next step on."""
        if self.bar is not None:
            if self.done:
                self.bar.update()
            self.bar.set_description_str(doing)
        else:
            self.say(f"{self.done}/{self.total} {doing}")
        self.done += 1

    def say(self, text):
        """One line that stays."""
        if self.bar is not None:
            self.bar.write(text, file=sys.stderr)
        else:
            print(text, file=sys.stderr, flush=True)

    def end(self, text):
        """The last line; the bar is gone."""
        if self.bar is not None:
            self.bar.close()
            self.bar = None
        self.say(text)

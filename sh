Early exits run on a GPU, and say why where they cannot -c echo Early exits run on a GPU, and say why where they cannot > /work/main/.git/worktrees/lead/COMMIT_EDITMSG

"""Commands that grade: submissions, replies of models, samples of a board, requests over HTTP."""

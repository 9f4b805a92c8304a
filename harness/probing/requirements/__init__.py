"""Requirements on outputs and on the growth of cost."""

"""What a person may set on the page: the values to choose from, and the widgets that show them."""

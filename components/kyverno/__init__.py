"""What KyvernoInstall is made of: the chart, its values, what stands around it, and whether it serves."""

"""`flux-tenancy tenant page`: tenants and their isolation as one HTML file, for people who look.

Put here what only that page shows. `page.html` has its templates, `page.css` its look, `page.js` fills the templates.
"""

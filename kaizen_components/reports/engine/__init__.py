"""What every report shares: gather, lay out, write as HTML, Markdown or JSON."""

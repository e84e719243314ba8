# A door to SK3: plans the links to a store of skills; with --apply HASH it makes them. $env:PYTHON chooses a Python.
$top = Split-Path -Parent $PSScriptRoot
$python = if ($env:PYTHON) { $env:PYTHON } else { Join-Path $top ".venv\Scripts\python.exe" }
& $python (Join-Path $top "kaizen.py") SK3 @args
exit $LASTEXITCODE

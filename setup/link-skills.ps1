# A door to SK3: plans the links to a store of skills; with --apply HASH it makes them. $env:PYTHON chooses a Python.
$top = Split-Path -Parent $PSScriptRoot
$python = if ($env:PYTHON) { $env:PYTHON } else { Join-Path $top ".venv\Scripts\python.exe" }
if (-not (Get-Command $python -ErrorAction SilentlyContinue)) {
    [Console]::Error.WriteLine("Kaizen is not set up here: run setup\setup.cmd first, or set PYTHON to a python.exe that has its packages.")
    exit 2
}
& $python (Join-Path $top "kaizen.py") SK3 @args
exit $LASTEXITCODE

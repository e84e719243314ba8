# A door to bootstrap.py: finds a Python that runs and is new enough. $env:PYTHON chooses one.
# 3.13 first: libsql has no wheel for a newer Python on Windows.
$bootstrap = Join-Path $PSScriptRoot "bootstrap.py"
$ask = "import sys; sys.exit(sys.version_info < (3, 11))"

if ($env:PYTHON) {
    & $env:PYTHON $bootstrap setup @args
    exit $LASTEXITCODE
}
foreach ($version in "-3.13", "-3.12", "-3.11", "-3") {
    try { & py $version -c $ask 2>$null } catch { break }
    if ($LASTEXITCODE -eq 0) { & py $version $bootstrap setup @args; exit $LASTEXITCODE }
}
try { & python -c $ask 2>$null } catch { $global:LASTEXITCODE = 1 }
if ($LASTEXITCODE -eq 0) { & python $bootstrap setup @args; exit $LASTEXITCODE }

[Console]::Error.WriteLine("Kaizen needs Python 3.11 or newer; none that runs was found. " +
    "Install one from python.org, or set PYTHON to its python.exe")
exit 2

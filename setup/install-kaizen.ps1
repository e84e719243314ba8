# Installs Kaizen, or updates it. This file is enough: it finds a Python and git, and fetches the rest.
# The work is in install_kaizen.py; --help shows the options. $env:PYTHON chooses a Python.
$ask = "import sys; sys.exit(sys.version_info < (3, 11))"
$howTo = "Here: winget install Git.Git Python.Python.3.13, then open a new window."

function Stop-With($code, $message) {
    [Console]::Error.WriteLine($message)
    exit $code
}

# The words that start a Python which runs and is new enough. 3.13 first: libsql has no wheel for a newer one on Windows.
function Find-Python {
    $candidates = if ($env:PYTHON) { , @($env:PYTHON) } else { @("py", "-3.13"), @("py", "-3.12"), @("py", "-3.11"), @("py", "-3"), @("python") }
    foreach ($words in $candidates) {
        $program, $rest = $words
        try { & $program @rest -c $ask 2>$null } catch { continue }
        if ($LASTEXITCODE -eq 0) { return , @($words) }
    }
}

$python = Find-Python
if (-not $python) { Stop-With 2 "Kaizen needs Python 3.11 or newer, and none that runs was found. $howTo" }
if (-not (Get-Command git -ErrorAction SilentlyContinue)) { Stop-With 2 "Kaizen needs git, and it was not found. $howTo" }
$program, $rest = $python

$devroot = if ($env:DEVROOT) { $env:DEVROOT } else { Join-Path $HOME "dev/kaizen" }
$engine = Join-Path $devroot "engine"
$beside = if ($PSScriptRoot) { Join-Path $PSScriptRoot "install_kaizen.py" } else { "" }
foreach ($installer in $beside, (Join-Path $engine "setup/install_kaizen.py")) {
    if ($installer -and (Test-Path -PathType Leaf $installer)) {
        & $program @rest $installer @args
        exit $LASTEXITCODE
    }
}

# This file is alone: get the repository, which has install_kaizen.py.
$url = $env:KAIZEN_REPO_URL
$ref = ""
for ($at = 0; $at -lt $args.Count; $at++) {
    if ($args[$at] -eq "--url" -and $at + 1 -lt $args.Count) { $url = $args[$at + 1] }
    elseif ("$($args[$at])".StartsWith("--url=")) { $url = "$($args[$at])".Substring(6) }
    elseif ($args[$at] -eq "--ref") {
        $ref = if ($at + 1 -lt $args.Count) { "$($args[$at + 1])" } else { "" }
        if (-not $ref) { Stop-With 2 "--ref needs a value: a tag, a branch or a commit." }
    }
    elseif ("$($args[$at])".StartsWith("--ref=")) { $ref = "$($args[$at])".Substring(6) }
}
if (-not $url) { Stop-With 2 "Which repository? Name it with --url or KAIZEN_REPO_URL." }
if ($url.StartsWith("-")) { Stop-With 2 "--url cannot be $url." }
if ($ref.StartsWith("-")) { Stop-With 2 "--ref cannot be $ref." }
if (Test-Path $engine) { Stop-With 1 "$engine is there without setup/install_kaizen.py: move it away, or choose another DEVROOT." }
if ($args -contains "--plan-only") {
    Write-Output "The plan; nothing was done:" "  1. clone the repository into $engine" "  2. run its setup/install_kaizen.py"
    exit 0
}
if ($args -contains "--no-network" -and -not (Test-Path $url) -and -not $url.StartsWith("file://")) {
    Stop-With 1 "The repository is not on this machine, and --no-network was given. Name a local copy with --url."
}
New-Item -ItemType Directory -Force $devroot | Out-Null
$part = "$engine.part.$PID"
& git clone --quiet -- $url $part
if ($LASTEXITCODE -ne 0) { Stop-With 1 "The repository could not be cloned." }
$env:KAIZEN_INSTALL_TAKEN = $part
& $program @rest (Join-Path $part "setup/install_kaizen.py") --url $url @args
exit $LASTEXITCODE

@echo off
rem Installs Kaizen on Windows, or updates it. This one file is enough: it installs git and Python if you agree,
rem and fetches the rest. The work is in install_agent_kaizen.py; --help shows the options.
rem The PowerShell script is below the last line for cmd.exe; it is copied to a file of its own first.
setlocal
set "KAIZEN_DOOR=%~f0"
set "KAIZEN_SCRIPT=%TEMP%\install-agent-kaizen-%RANDOM%.ps1"
powershell -NoProfile -ExecutionPolicy Bypass -Command "[IO.File]::WriteAllText($env:KAIZEN_SCRIPT, [IO.File]::ReadAllText($env:KAIZEN_DOOR).Split([string[]]'#:powershell', 'None')[-1])"
powershell -NoProfile -ExecutionPolicy Bypass -File "%KAIZEN_SCRIPT%" %*
set KAIZEN_CODE=%ERRORLEVEL%
del "%KAIZEN_SCRIPT%"
exit /b %KAIZEN_CODE%
#:powershell
$ask = "import sys; sys.exit(sys.version_info < (3, 11))"
$links = "Get them from https://git-scm.com/downloads and https://www.python.org/downloads (tick 'Add to PATH'), then run this again."

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

function Test-Git { return [bool](Get-Command git -ErrorAction SilentlyContinue) }

# Install git and Python for this user with winget, after a yes.
function Install-Tools {
    if (-not (Get-Command winget -ErrorAction SilentlyContinue)) { Stop-With 2 "Kaizen needs git and Python 3.11 or newer, and winget was not found. $links" }
    $ids = @("Git.Git", "Python.Python.3.13")
    Write-Output "Kaizen needs git and Python 3.11 or newer. winget install $ids installs them."
    if ($args -notcontains "--yes") {
        if ((Read-Host "Run it now? [y/N]") -notmatch "^(y|yes)$") { Stop-With 2 "Nothing was installed." }
    }
    foreach ($id in $ids) {
        & winget install --exact --id $id --scope user --accept-package-agreements --accept-source-agreements
    }
    $env:Path = [Environment]::GetEnvironmentVariable("Path", "Machine") + ";" + [Environment]::GetEnvironmentVariable("Path", "User")
}

$python = Find-Python
if (-not $python -or -not (Test-Git)) {
    Install-Tools @args
    $python = Find-Python
}
if (-not $python -or -not (Test-Git)) { Stop-With 2 "Kaizen needs git and Python 3.11 or newer. $links" }
$program, $rest = $python

$devroot = if ($env:DEVROOT) { $env:DEVROOT } else { Join-Path $HOME "dev/kaizen" }
$engine = Join-Path $devroot "agent-kaizen"
$beside = Join-Path (Split-Path $env:KAIZEN_DOOR) "install_agent_kaizen.py"
foreach ($installer in $beside, (Join-Path $engine "setup/install_agent_kaizen.py")) {
    if ($installer -and (Test-Path -PathType Leaf $installer)) {
        & $program @rest $installer @args
        exit $LASTEXITCODE
    }
}

# This file is alone: get the repository, which has install_agent_kaizen.py.
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
if (Test-Path $engine) { Stop-With 1 "$engine is there without setup/install_agent_kaizen.py: move it away, or choose another DEVROOT." }
if ($args -contains "--plan-only") {
    Write-Output "The plan; nothing was done:" "  1. clone the repository into $engine" "  2. run its setup/install_agent_kaizen.py"
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
& $program @rest (Join-Path $part "setup/install_agent_kaizen.py") --url $url @args
exit $LASTEXITCODE

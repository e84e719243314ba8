@echo off
rem install-kaizen.ps1 for cmd.exe, and for where PowerShell scripts may not run by themselves; it must lie beside this file.
if not exist "%~dp0install-kaizen.ps1" (
    echo install-kaizen.ps1 is not beside this file: download it too. 1>&2
    exit /b 2
)
powershell -NoProfile -ExecutionPolicy Bypass -File "%~dp0install-kaizen.ps1" %*
exit /b %ERRORLEVEL%

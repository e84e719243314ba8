@echo off
rem link-skills.ps1 for cmd.exe, and for where PowerShell scripts may not run by themselves.
powershell -NoProfile -ExecutionPolicy Bypass -File "%~dp0link-skills.ps1" %*
exit /b %ERRORLEVEL%

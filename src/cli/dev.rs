pub(super) async fn run(args: DevArgs, source: &Source) -> Result<ExitCode, CliError> {
    let close = Duration::from_millis(args.close_ms);
    let config = EmbeddedConfig::load(source, close)?;
    // Removed with everything in it when the stack has stopped.
    let directory = tempfile::tempdir()?;
    let database = match args.database {
        Some(file) if file.exists() => {
            let problem =
                "exists: the simulated network would not know the payments recorded there";
            return Err(CliError::Refused(format!("{} {problem}", file.display())));
        }
        Some(file) => file,
        None => directory.path().join("tender.sqlite"),
    };
    role::dev::run(
        &config,
        &database,
        args.channels,
        close,
        role::shutdown_on_signal(),
    )
    .await?;
    Ok(ExitCode::SUCCESS)
}

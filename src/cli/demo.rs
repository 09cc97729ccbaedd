pub(super) async fn run(args: DemoArgs) -> Result<ExitCode, CliError> {
    let close = Duration::from_millis(args.close_ms);
    // Always the defaults: what is shown must not depend on settings that lie about.
    let config = EmbeddedConfig::load(&Source::default(), close)?;
    let demonstration = Demonstration {
        payments: args.payments,
        duplicates: args.duplicates,
        channels: args.channels,
        loss: u16::try_from(args.loss).unwrap_or(u16::MAX),
        close,
        watched: std::io::stderr().is_terminal(),
    };
    let stay = (!args.exit).then(role::shutdown_on_signal);
    let shown = stay.is_some();
    let report = role::demo::run(&config, demonstration, stay).await?;
    if args.json {
        println!(
            "{}",
            serde_json::to_string(&report).map_err(std::io::Error::from)?
        );
    } else if !shown {
        println!("{report}");
    }
    Ok(if report.holds() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

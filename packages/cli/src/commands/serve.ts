import { CaissonError } from '@caisson/contract';
import { type Command, Option } from 'commander';
import { type CommandContext, withJson } from '../command-context.ts';
import { collect, parseCount, parseSeconds } from '../input/key-value.ts';

interface ServeOptions {
  readonly driver?: string[];
  readonly dockerHost?: string;
  readonly podmanHost?: string;
  readonly buildkitHost?: string;
  readonly builder?: 'auto' | 'native' | 'buildkit';
  readonly storage?: string;
  readonly zfsDataset?: string;
  readonly egressOpen?: string[];
  readonly sourceFolder?: string[];
  readonly egressRoots?: string;
  readonly extraCa?: string;
  readonly registry?: string[];
  readonly defaultRegistry?: string;
  readonly registryCredentials?: string;
  readonly webhookOpen?: string[];
  readonly webhookRoots?: string;
  readonly eventsFile?: string;
  readonly listen?: string[];
  readonly data?: string;
  readonly database?: string;
  readonly allowHost?: string[];
  readonly previewDomain?: string[];
  readonly previewListen?: string[];
  readonly previewProxy?: string[];
  readonly destroyOnExit?: boolean;
  readonly logLevel: string;
  readonly secretsKeyFile?: string;
  readonly maxSandboxes?: number;
  readonly maxPerTenant?: number;
  readonly auditDays?: number;
  readonly orphanGrace?: number;
  readonly usageHook?: string;
  readonly builds?: number;
  readonly maxBuilds?: number;
  readonly otlpEndpoint?: string;
}

const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'];

export function addServe(parent: Command, context: CommandContext): void {
  withJson(parent.command('serve').description('run the server in front, until SIGTERM or Ctrl-C'))
    .option('--listen <host:port>', 'listen here too, besides the socket; a port alone is on loopback', collect)
    .option('--data <folder>', 'its data folder (or CAISSON_DATA_FOLDER)')
    .option('--database <url>', 'Postgres instead of SQLite in the data folder (better: CAISSON_DATABASE_URL)')
    .option('--allow-host <name>', 'a host name under which it may be reached on loopback; may be repeated', collect)
    .option(
      '--preview-domain <name>',
      'a domain whose names lead to ports; may be repeated (or CAISSON_PREVIEW_DOMAIN)',
      collect,
    )
    .option('--preview-listen <host:port>', 'listen here for previews alone; may be repeated', collect)
    .option('--preview-proxy <address>', 'a proxy in front of previews whose X-Forwarded-For counts', collect)
    .option('--driver <name>', 'a driver to offer, best first; may be repeated (or CAISSON_DRIVERS)', collect)
    .option('--docker-host <address>', 'where the driver docker and BuildKit find their engine (or DOCKER_HOST)')
    .option('--podman-host <address>', 'where the driver podman finds its engine (or CONTAINER_HOST)')
    .option('--buildkit-host <address>', 'a buildkitd to build with instead of a Docker engine (or BUILDKIT_HOST)')
    .addOption(
      new Option('--builder <name>', 'what builds images')
        .choices(['auto', 'native', 'buildkit'])
        .env('CAISSON_BUILDER'),
    )
    .addOption(
      new Option('--storage <name>', 'where root filesystems are kept (or CAISSON_STORAGE)').choices([
        'auto',
        'btrfs',
        'overlay',
        'zfs',
      ]),
    )
    .option('--zfs-dataset <name>', 'the dataset in which zfs may make others (or CAISSON_ZFS_DATASET)')
    .option(
      '--secrets-key-file <file>',
      'the key of secrets, 32 bytes in base64 (or CAISSON_SECRETS_KEY); else one in the data folder',
    )
    .option(
      '--egress-open <range>',
      'a private address or range, with or without :port, that sandboxes may reach; may be repeated (or CAISSON_EGRESS_OPEN)',
      collect,
    )
    .option(
      '--egress-roots <file>',
      'certificates to trust where TLS out of sandboxes ends here, as PEM (or CAISSON_EGRESS_ROOTS)',
    )
    .option(
      '--extra-ca <file>',
      "an authority to trust besides the machine's, as PEM: by the server, the way out and builds (or CAISSON_EXTRA_CA)",
    )
    .option(
      '--source-folder <path>',
      'a folder of this machine that specs may take files from; may be repeated (or CAISSON_SOURCE_FOLDERS)',
      collect,
    )
    .option(
      '--otlp-endpoint <url>',
      'a collector that takes OTLP over HTTP: traces go there (or OTEL_EXPORTER_OTLP_ENDPOINT)',
      parseUrl,
    )
    .option(
      '--registry <host>',
      'a registry that may be asked for images; may be repeated; any otherwise (or CAISSON_REGISTRIES)',
      collect,
    )
    .option('--default-registry <host>', 'where images are that name no registry (or CAISSON_DEFAULT_REGISTRY)')
    .option(
      '--registry-credentials <file>',
      'credentials of registries, as `docker login` writes them (or CAISSON_REGISTRY_CREDENTIALS)',
    )
    .option(
      '--webhook-open <range>',
      'a private address or range, with or without :port, that webhooks may have; may be repeated (or CAISSON_WEBHOOK_OPEN)',
      collect,
    )
    .option('--webhook-roots <file>', 'certificates to trust for webhooks, as PEM (or CAISSON_WEBHOOK_ROOTS)')
    .option('--events-file <file>', 'append every event to this file too, one a line (or CAISSON_EVENTS_FILE)')
    .option('--destroy-on-exit', 'destroy all sandboxes at the end instead of leaving them running')
    .option('--max-sandboxes <count>', 'how many sandboxes there may be on this host', parseCount)
    .option('--max-per-tenant <count>', 'how many sandboxes a tenant may have', parseCount)
    .addOption(
      new Option(
        '--orphan-grace <seconds>',
        'how long what has no record and no owner is left alone once it is told; 60 when absent',
      )
        .argParser(parseSeconds)
        .env('CAISSON_ORPHAN_GRACE'),
    )
    .option('--audit-days <days>', 'how long the audit log is kept; for ever when absent', parseCount)
    .option(
      '--usage-hook <url>',
      'where to send what tenants that pay have used, signed with CAISSON_USAGE_HOOK_SECRET (or CAISSON_USAGE_HOOK)',
    )
    .option('--builds <count>', 'how many images are built at a time; 2 when absent', parseCount)
    .option('--max-builds <count>', 'how many builds of a tenant may wait or run; 50 when absent', parseCount)
    .addOption(new Option('--log-level <level>', 'how much to log').choices(logLevels).default('info'))
    .action((options: ServeOptions) => serve(options, context));
}

async function serve(options: ServeOptions, { invocation, screen }: CommandContext): Promise<void> {
  const { env } = invocation;
  const { localPlace } = await import('../local-server/data-folder.ts');
  const { version } = await import('../version.ts');
  const { startServer } = await import('@caisson/server');
  const asked = signalled();
  const givenDatabase = take(env, 'CAISSON_DATABASE_URL');
  const databaseUrl = options.database ?? givenDatabase;
  const server = await startServer({
    dataFolder: localPlace(options.data, env).folder,
    listen: (options.listen ?? []).map(withHost),
    ...(databaseUrl === undefined ? {} : { databaseUrl }),
    drivers: options.driver ?? namesIn(env.CAISSON_DRIVERS),
    engines: {
      dockerHost: options.dockerHost,
      podmanHost: options.podmanHost,
      buildkitHost: options.buildkitHost ?? (env.BUILDKIT_HOST || undefined),
      certFolder: env.DOCKER_TLS_VERIFY ? env.DOCKER_CERT_PATH : undefined,
    },
    buildWith: options.builder,
    storage: {
      name: options.storage ?? (env.CAISSON_STORAGE || undefined),
      zfsDataset: options.zfsDataset ?? (env.CAISSON_ZFS_DATASET || undefined),
    },
    secretsKey: { file: options.secretsKeyFile, text: take(env, 'CAISSON_SECRETS_KEY') },
    usageHook: usageHook(options.usageHook, env),
    auditDays: options.auditDays,
    orphanGraceSeconds: options.orphanGrace,
    egress: {
      open: options.egressOpen ?? namesIn(env.CAISSON_EGRESS_OPEN),
      rootsFile: options.egressRoots ?? (env.CAISSON_EGRESS_ROOTS || undefined),
    },
    extraCa: options.extraCa ?? (env.CAISSON_EXTRA_CA || undefined),
    sourceSettings: { folders: options.sourceFolder ?? namesIn(env.CAISSON_SOURCE_FOLDERS) },
    traces: {
      endpoint:
        options.otlpEndpoint ??
        (env.OTEL_EXPORTER_OTLP_ENDPOINT ? parseUrl(env.OTEL_EXPORTER_OTLP_ENDPOINT) : undefined),
      headers: headersIn(take(env, 'OTEL_EXPORTER_OTLP_HEADERS')),
    },
    registries: {
      registries: options.registry ?? namesIn(env.CAISSON_REGISTRIES),
      defaultRegistry: options.defaultRegistry ?? (env.CAISSON_DEFAULT_REGISTRY || undefined),
      credentialsFile: options.registryCredentials ?? (env.CAISSON_REGISTRY_CREDENTIALS || undefined),
    },
    sinks: {
      open: options.webhookOpen ?? namesIn(env.CAISSON_WEBHOOK_OPEN),
      rootsFile: options.webhookRoots ?? (env.CAISSON_WEBHOOK_ROOTS || undefined),
      eventsFile: options.eventsFile ?? (env.CAISSON_EVENTS_FILE || undefined),
    },
    allowHosts: options.allowHost ?? [],
    previewDomains: options.previewDomain ?? namesIn(env.CAISSON_PREVIEW_DOMAIN),
    previewListen: (options.previewListen ?? []).map(withHost),
    previewProxies: options.previewProxy ?? [],
    destroyOnExit: options.destroyOnExit ?? false,
    logLevel: options.logLevel,
    version,
    builds: { atOnce: options.builds, maxPerTenant: options.maxBuilds },
    limits: {
      ...(options.maxSandboxes === undefined ? {} : { sandboxesPerHost: options.maxSandboxes }),
      ...(options.maxPerTenant === undefined ? {} : { sandboxesPerTenant: options.maxPerTenant }),
    },
  });
  const { addresses, previewAddresses } = server;
  screen.result({ pid: process.pid, version, addresses, previewAddresses }, () =>
    [
      ...addresses.map((address) => `listening on ${address}`),
      ...previewAddresses.map((address) => `previews alone on ${address}`),
    ].join('\n'),
  );
  await asked;
  await server.close();
  // What is still open then belongs to nobody; it must not keep the process.
  setTimeout(() => process.exit(0), 1_000).unref();
}

/** A secret leaves the environment with this: no program that the server starts has it. */
function take(env: Readonly<Record<string, string | undefined>>, name: string): string | undefined {
  const value = env[name] || undefined;
  delete process.env[name];
  return value;
}

function usageHook(given: string | undefined, env: Readonly<Record<string, string | undefined>>) {
  const secret = take(env, 'CAISSON_USAGE_HOOK_SECRET') ?? '';
  const url = given ?? (env.CAISSON_USAGE_HOOK || undefined);
  return url === undefined ? undefined : { url, secret };
}

/** A port alone is one of loopback. */
function withHost(text: string): string {
  return /^\d+$/.test(text) ? `127.0.0.1:${text}` : text;
}

/** Names with commas between them, as a variable of the environment holds them. */
function namesIn(text: string | undefined): string[] | undefined {
  const names = text
    ?.split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
  return names === undefined || names.length === 0 ? undefined : names;
}

function parseUrl(text: string): string {
  if (URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)) return text;
  throw new CaissonError('request_invalid', `\`${text.slice(0, 200)}\` is not the address of a collector`, {
    hint: 'Write it as `http://host:4318`.',
  });
}

/** `name=value` with commas between them, values escaped as in a URL: as OpenTelemetry has it. */
function headersIn(text: string | undefined): Record<string, string> {
  const pairs = (text ?? '').split(',').map((pair) => pair.split('='));
  return Object.fromEntries(
    pairs.flatMap(([name = '', ...value]) => (name.trim() === '' ? [] : [[name.trim(), unescaped(value.join('='))]])),
  );
}

function unescaped(text: string): string {
  try {
    return decodeURIComponent(text.trim());
  } catch {
    return text.trim();
  }
}

/** Resolves at the first signal to end. A second one does not wait for the first to be done. */
function signalled(): Promise<void> {
  return new Promise((resolve) => {
    let count = 0;
    for (const [signal, number] of [
      ['SIGTERM', 15],
      ['SIGINT', 2],
    ] as const) {
      process.on(signal, () => {
        count += 1;
        if (count > 1) process.exit(128 + number);
        resolve();
      });
    }
  });
}

import type { OpenPort } from '@caisson/contract';
import { type Command, InvalidArgumentError } from 'commander';
import { type CommandContext, withServer } from '../command-context.ts';
import type { ServerChoice } from '../connect.ts';
import { parseDuration, parseWholeDuration } from '../input/duration.ts';
import { linkText, portTable, shareText } from '../output/port-text.ts';

interface OpenOptions extends ServerChoice {
  readonly public?: boolean;
  readonly hostHeader?: string;
  readonly rotate?: boolean;
}

export interface ForwardOptions extends ServerChoice {
  readonly bind: string;
}

export function addPort(parent: Command, context: CommandContext): void {
  const group = parent.command('port').description('ports inside a sandbox, and who may reach them from outside');
  addSharing(group, context);
  addLooking(group, context);
  addForward(group, context);
}

function addSharing(group: Command, { connect, screen }: CommandContext): void {
  onPort(group.command('open').description('open a port to the outside; its token is told once'))
    .option('--public', 'to everybody, without a token')
    .option('--host-header <name>', 'the Host that its program sees: `port` (localhost), `preview`, or a name', 'port')
    .option('--rotate', 'a new token; those before it, and all links, end')
    .action(async (ref: string, port: number, options: OpenOptions) => {
      const sandbox = await find(await connect(options), ref);
      const wish: OpenPort = {
        visibility: options.public ? 'public' : 'private',
        hostHeader: options.hostHeader ?? 'port',
        rotate: options.rotate ?? false,
      };
      const opened = await sandbox.ports.open(port, wish);
      screen.result(opened, () => shareText(opened));
    });

  onPort(group.command('close').description('close a port: its token, links and connections end')).action(
    async (ref: string, port: number, options: ServerChoice) => {
      const closed = await (await find(await connect(options), ref)).ports.close(port);
      screen.result(closed, () => `closed ${port}`);
    },
  );

  onPort(group.command('link').description('a link to an open port that ends by itself'))
    .option('--expires <duration>', 'how long it lasts, a week at most', parseWholeDuration, 3_600)
    .action(async (ref: string, port: number, options: ServerChoice & { expires: number }) => {
      const sandbox = await find(await connect(options), ref);
      const link = await sandbox.ports.link(port, { expiresInSeconds: options.expires });
      screen.result(link, () => linkText(link));
    });
}

function addLooking(group: Command, { connect, screen }: CommandContext): void {
  withServer(group.command('list').description('ports that listen inside, and those that are open to the outside'))
    .argument('<sandbox>', 'id or name')
    .action(async (ref: string, options: ServerChoice) => {
      const items = await (await find(await connect(options), ref)).ports.list();
      screen.result({ items }, () => (items.length === 0 ? 'no ports' : portTable(items)));
    });

  onPort(group.command('wait').description('wait until something listens on a port'))
    .option('--timeout <duration>', 'give up after this', parseDuration, 60)
    .action(async (ref: string, port: number, options: ServerChoice & { timeout: number }) => {
      const sandbox = await find(await connect(options), ref);
      await sandbox.ports.wait(port, { timeoutSeconds: options.timeout });
      screen.result({ port, listening: true }, () => `port ${port} listens`);
    });
}

function addForward(group: Command, context: CommandContext): void {
  withServer(group.command('forward').description('a port of this machine that leads to one inside, until Ctrl-C'))
    .argument('<sandbox>', 'id or name')
    .argument('<[local:]port>', 'the port inside, or the one here and the one inside', parseForward)
    .option('--bind <address>', 'where to listen here', '127.0.0.1')
    .action(async (ref: string, ports: ForwardPorts, options: ForwardOptions) => {
      const { forward } = await import('../ports/forward.ts');
      await forward(ref, ports, options, context);
    });
}

/** The options and arguments of commands about one port. */
function onPort(command: Command): Command {
  return withServer(command).argument('<sandbox>', 'id or name').argument('<port>', 'the port inside', parsePort);
}

async function find(caisson: Awaited<ReturnType<CommandContext['connect']>>, ref: string) {
  const { findSandbox } = await import('../find-sandbox.ts');
  return findSandbox(caisson, ref);
}

export interface ForwardPorts {
  /** 0 is any that is free. */
  readonly local: number;
  readonly inside: number;
}

export function parsePort(text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  if (port < 1 || port > 65_535) throw new InvalidArgumentError('It must be a port from 1 to 65535.');
  return port;
}

export function parseForward(text: string): ForwardPorts {
  const [first = '', second, ...more] = text.split(':');
  if (more.length > 0) throw new InvalidArgumentError('Write it as 3000, or as 8080:3000.');
  if (second === undefined) return { local: parsePort(first), inside: parsePort(first) };
  return { local: first === '0' ? 0 : parsePort(first), inside: parsePort(second) };
}

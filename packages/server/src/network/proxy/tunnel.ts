import type { Duplex } from 'node:stream';
import { dialFirst } from '../dial/dial.ts';
import type { BoundSecrets } from '../egress.ts';
import { type Host, hostText, readHost, type Target } from '../rules/host.ts';
import type { ClientHello } from './client-hello.ts';
import { type FirstBytes, lookAtFirstBytes } from './first-bytes.ts';
import { bind, type Flow, flow } from './flow.ts';
import type { Passage } from './gate.ts';
import { decideHandshake } from './handshake-rules.ts';
import type { Refused } from './refused.ts';
import { endTls } from './terminate.ts';
import type { Spare } from './upstream-pool.ts';
import type { Visit } from './visit.ts';

/** From a client's first byte to the end of what tells us what it speaks. */
const lookMs = 10_000;

export interface Reached {
  readonly target: Target;
  readonly rule: string | undefined;
  readonly upstream: NonNullable<Spare['socket']>;
}

/** Decides and dials. */
export async function reach({ gate, client }: Visit, target: Target): Promise<Reached | Refused> {
  const found = await gate.candidates(target);
  if ('why' in found) return found;
  const upstream = await dialFirst(found.addresses, target.port, client.left);
  if (!upstream) return { why: 'unreachable', target, address: found.addresses[0] };
  const refused = await gate.confirm(target, upstream.address);
  if (!refused) return { target, rule: found.rule, upstream };
  upstream.socket.destroy();
  return refused;
}

/**
 * Bytes between a client and what it reached. What comes from outside goes in at once, because in some protocols the
 * server speaks first. What the client says first is held until it is known what it speaks: TLS shows a name that must
 * fit, HTTP is read request by request, anything else passes.
 */
export class Tunnel {
  readonly #visit: Visit;
  readonly #stream: Duplex;
  readonly #reached: Reached;
  readonly #passage: Passage;
  readonly #back: Flow;
  readonly #unbind: () => void;
  readonly #onClose: () => void;
  #gathered: Buffer = Buffer.alloc(0);
  #deadline: NodeJS.Timeout | undefined;
  #hasHeard = false;

  /** `early`: what the client has sent already. */
  constructor(visit: Visit, stream: Duplex, reached: Reached, early: Buffer) {
    this.#visit = visit;
    this.#stream = stream;
    this.#reached = reached;
    const { gate, client } = visit;
    const { target, upstream } = reached;
    const { socket, address } = upstream;
    this.#passage = {
      ...{ protocol: client.protocol, target, address, shown: undefined, account: gate.account(target) },
      end: () => this.#end(),
    };
    gate.open(this.#passage);
    gate.allowed(this.#passage, reached.rule);
    this.#passage.account.connected();
    const over = client.work();
    this.#onClose = () => {
      clearTimeout(this.#deadline);
      gate.close(this.#passage);
      over();
    };
    stream.once('close', this.#onClose);
    this.#unbind = bind(stream, socket);
    this.#back = flow(socket, stream, (bytes) => {
      this.#hasHeard = true;
      return this.#passage.account.received(bytes);
    });
    if (early.length > 0) stream.unshift(early);
    stream.on('data', this.#onData);
    stream.on('end', this.#onEnd);
    stream.resume();
  }

  readonly #onData = (piece: Buffer) => {
    this.#gathered = this.#gathered.length === 0 ? piece : Buffer.concat([this.#gathered, piece]);
    const found = lookAtFirstBytes(this.#gathered);
    if (found.kind !== 'more') return this.#known(found);
    this.#deadline ??= setTimeout(() => this.#unclear(), lookMs);
  };

  readonly #onEnd = () => {
    if (this.#gathered.length > 0) this.#unclear();
    else this.#pass();
  };

  /** It has not said what it speaks. Where names decide, that is one way to hide one. */
  #unclear(): void {
    this.#leave();
    void this.#visit.gate.standing().then((standing) => {
      if (standing && !standing.rules.namesMatter) this.#pass();
      else this.#refuse({ why: 'request_malformed', target: this.#passage.target });
    });
  }

  #leave(): void {
    clearTimeout(this.#deadline);
    this.#stream.off('data', this.#onData);
    this.#stream.off('end', this.#onEnd);
    this.#stream.pause();
  }

  #known(found: FirstBytes): void {
    this.#leave();
    this.#decide(found).catch((error: unknown) => {
      const { gate } = this.#visit;
      gate.parts.log.warn({ err: error, sandbox: gate.sandbox }, 'a connection out of a sandbox failed');
      this.#end();
    });
  }

  async #decide(found: FirstBytes): Promise<void> {
    const { target } = this.#passage;
    if (found.kind === 'other') return this.#pass();
    if (found.kind === 'http') return this.#serve();
    const standing = await this.#visit.gate.standing();
    if (!standing) return this.#refuse({ why: 'network_off', target });
    if (found.kind !== 'tls') {
      if (!standing.rules.namesMatter) return this.#pass();
      return this.#refuse({ why: 'protocol_unsupported', target });
    }
    const ruling = decideHandshake(found.hello, target, standing.rules);
    if ('why' in ruling) return this.#refuse({ ...ruling, target });
    this.#passage.shown = ruling.shown;
    const host = shownHost(found.hello, target);
    const secrets = host && (await this.#visit.gate.parts.secrets?.find(standing.subject, hostText(host), target.port));
    if (this.#stream.destroyed) return;
    if (secrets) return this.#serve({ host, secrets });
    this.#pass();
  }

  /** Bytes as they come, both ways. */
  #pass(): void {
    const { socket } = this.#reached.upstream;
    if (this.#stream.destroyed || socket.destroyed) {
      this.#end();
      return;
    }
    if (this.#gathered.length > 0) {
      this.#passage.account.sent(this.#gathered.length);
      socket.write(this.#gathered);
    }
    this.#gathered = Buffer.alloc(0);
    if (this.#stream.readableEnded) socket.end();
    else flow(this.#stream, socket, this.#passage.account.sent);
  }

  /** Requests, each looked at. The connection that was made becomes the first of those that they are sent on. */
  #serve(tls?: { readonly host: Host; readonly secrets: BoundSecrets }): void {
    // A server that has spoken before it was asked does not speak HTTP.
    if (this.#hasHeard) {
      this.#refuse({ why: 'request_malformed', target: this.#passage.target });
      return;
    }
    const { gate } = this.#visit;
    const { upstream, target } = this.#reached;
    this.#back.detach();
    this.#unbind();
    this.#stream.off('close', this.#onClose);
    // From here on each request is a passage of its own.
    this.#onClose();
    const spare: Spare = { socket: upstream };
    this.#stream.once('close', () => spare.socket?.socket.destroy());
    this.#stream.unshift(this.#gathered);
    if (!tls) {
      this.#visit.serveFixed(this.#stream, { target, spare });
      return;
    }
    const fixed = { target: { host: tls.host, port: target.port }, secrets: tls.secrets, spare };
    endTls(this.#stream, tls.secrets, (plain) => this.#visit.serveFixed(plain, fixed)).catch((error: unknown) => {
      gate.parts.log.warn({ err: error, sandbox: gate.sandbox }, 'the TLS of a connection cannot be ended here');
      this.#stream.destroy();
    });
  }

  #refuse(refused: Refused): void {
    const { gate, client } = this.#visit;
    gate.refused(client.protocol, { address: this.#passage.address, ...refused });
    this.#end();
  }

  #end(): void {
    this.#stream.destroy();
    this.#reached.upstream.socket.destroy();
  }
}

/** The name by which secrets are found: what the handshake shows, or else what the connection is for. */
function shownHost(hello: ClientHello | undefined, target: Target): Host | undefined {
  const shown = hello?.name === undefined ? undefined : readHost(hello.name);
  const host = shown ?? target.host;
  return host.kind === 'name' ? host : undefined;
}

import type { PortConnection } from './port-connection.ts';

/** Servers close a silent connection after five seconds and more; a little earlier nobody meets it half closed. */
const idleMs = 4_000;
const maxIdle = 64;
const sweepMs = 1_000;
/** What must not happen twice goes on a connection that was used just now, or on a new one. */
const freshMs = 1_000;

/** Connections to ports that wait for their next request. */
export class PortPool {
  readonly #idle = new Map<string, Map<number, PortConnection[]>>();
  #timer: NodeJS.Timeout | undefined;

  take(sandbox: string, port: number, mayRepeat: boolean): PortConnection | undefined {
    const waiting = this.#idle.get(sandbox)?.get(port);
    for (let found = waiting?.pop(); found !== undefined; found = waiting?.pop()) {
      if (found.isOpen && (mayRepeat || performance.now() - found.idleSince < freshMs)) return found;
      found.destroy();
    }
    return undefined;
  }

  give(sandbox: string, port: number, connection: PortConnection): void {
    const ports = this.#idle.get(sandbox) ?? new Map<number, PortConnection[]>();
    const waiting = ports.get(port) ?? [];
    if (!connection.isReusable || waiting.length >= maxIdle) return void connection.destroy();
    connection.idleSince = performance.now();
    waiting.push(connection);
    if (waiting.length === 1) {
      ports.set(port, waiting);
      this.#idle.set(sandbox, ports);
    }
    this.#timer ??= setInterval(() => this.#sweep(), sweepMs).unref();
  }

  /** Something happened to the sandbox: what waits may lead nowhere. */
  drop(sandbox: string): void {
    const ports = this.#idle.get(sandbox);
    this.#idle.delete(sandbox);
    for (const waiting of ports?.values() ?? []) for (const connection of waiting) connection.destroy();
  }

  close(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    for (const sandbox of [...this.#idle.keys()]) this.drop(sandbox);
  }

  #sweep(): void {
    const now = performance.now();
    for (const [sandbox, ports] of this.#idle) {
      for (const [port, waiting] of ports) {
        const kept = waiting.filter((connection) => {
          const limit = Math.min(idleMs, ((connection.keepAliveSeconds ?? Number.POSITIVE_INFINITY) - 1) * 1000);
          if (connection.isOpen && now - connection.idleSince < limit) return true;
          connection.destroy();
          return false;
        });
        if (kept.length > 0) ports.set(port, kept);
        else ports.delete(port);
      }
      if (ports.size === 0) this.#idle.delete(sandbox);
    }
    if (this.#idle.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}

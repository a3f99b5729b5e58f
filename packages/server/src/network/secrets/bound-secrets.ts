import type { SecretPlace, SecretStore } from '../../store/secrets.ts';
import type { BoundSecrets, EgressSecrets, EgressSubject, RequestHead } from '../egress.ts';
import { applySecrets } from './apply-secrets.ts';
import type { Authority } from './authority.ts';
import type { LiveSecret, LiveSecrets, ProjectSecrets } from './project-secrets.ts';

/** When a secret was last used is written down at most this often. */
const usedEveryMs = 60_000;
/** Sandboxes whose rules name something that is not there; each is told once. Beyond this many some are told again. */
const maxTold = 10_000;

export interface EgressVaultOptions {
  readonly projects: ProjectSecrets;
  readonly store: SecretStore;
  readonly authority: Pick<Authority, 'leaf'>;
  /** A sandbox names a secret that is not there, or cannot be read: its requests go out without it. */
  readonly missing?: ((sandbox: string, name: string) => void) | undefined;
}

/**
 * Secrets for the way out. A secret goes into a request when the sandbox's rules name it, its project has it, and host and
 * port are ones that it is bound to; each of the three is looked at again for each request.
 */
export class EgressVault implements EgressSecrets {
  readonly #options: EgressVaultOptions;
  readonly #lastUsed = new Map<string, number>();
  readonly #told = new Set<string>();

  constructor(options: EgressVaultOptions) {
    this.#options = options;
  }

  async find(subject: EgressSubject, host: string, port: number): Promise<BoundSecrets | undefined> {
    const names = subject.rules.secrets;
    if (names.length === 0) return undefined;
    const { tenant, project } = subject.owner;
    const place = { tenant, project };
    const live = await this.#options.projects.of(place);
    this.#tellMissing(subject, live);
    const bound = () => names.flatMap((name) => boundTo(live.byName.get(name), host, port));
    if (bound().length === 0) return undefined;
    return {
      certificate: () => this.#options.authority.leaf(host),
      apply: (head: RequestHead) => {
        const applied = applySecrets(head, bound());
        for (const name of applied.used) this.#used(place, name);
        return applied;
      },
    };
  }

  #used(place: SecretPlace, name: string): void {
    const key = JSON.stringify([place.tenant, place.project, name]);
    const now = Date.now();
    if (now - (this.#lastUsed.get(key) ?? 0) < usedEveryMs) return;
    this.#lastUsed.set(key, now);
    // The request does not wait for it, and does not fail with it; the next minute writes it again.
    this.#options.store.used(place, name, now).catch(() => this.#lastUsed.delete(key));
  }

  #tellMissing({ sandbox, rules }: EgressSubject, live: LiveSecrets): void {
    for (const name of rules.secrets) {
      const key = `${sandbox} ${name}`;
      if (live.byName.has(name)) this.#told.delete(key);
      else if (!this.#told.has(key)) {
        if (this.#told.size >= maxTold) this.#told.clear();
        this.#told.add(key);
        this.#options.missing?.(sandbox, name);
      }
    }
  }
}

function boundTo(secret: LiveSecret | undefined, host: string, port: number): LiveSecret[] {
  if (!secret?.ports.includes(port)) return [];
  return secret.domains.some((domain) => matchesDomain(domain, host)) ? [secret] : [];
}

/** `*.example.com` is everything below `example.com`, and not `example.com` itself. */
export function matchesDomain(domain: string, host: string): boolean {
  const name = host.toLowerCase();
  if (!domain.startsWith('*.')) return name === domain;
  return name.length > domain.length - 1 && name.endsWith(domain.slice(1));
}

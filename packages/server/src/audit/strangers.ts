import type { NewAuditRow } from '../store/audit.ts';

/** More lines than this in one second say nothing more, and a stranger must not fill the disk. */
const maxLines = 20;

/** Refusals of those who showed no valid key. Anybody can cause them, so equal ones are folded and their number bounded. */
export class Strangers {
  readonly #lines = new Map<string, NewAuditRow>();

  get isEmpty(): boolean {
    return this.#lines.size === 0;
  }

  add(row: NewAuditRow): void {
    const name = [row.action, row.address, row.code].join(' ');
    const known = this.#lines.get(name);
    if (known) known.count += 1;
    else if (this.#lines.size < maxLines - 1) this.#lines.set(name, { ...row });
    else this.#fold(row);
  }

  take(): NewAuditRow[] {
    const rows = [...this.#lines.values()];
    this.#lines.clear();
    return rows;
  }

  #fold(row: NewAuditRow): void {
    const others = this.#lines.get('');
    if (others) others.count += 1;
    else this.#lines.set('', { ...row, action: 'other', address: null, agent: null, subject: null, request: null });
  }
}

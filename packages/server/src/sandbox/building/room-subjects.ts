import type { Id } from '@caisson/contract';
import type { EgressSubject, EgressSubjects } from '../../network/egress.ts';

/** Rooms of builds beside sandboxes: a room has no record, and its rules are those of its build for as long as it lasts. */
export class RoomSubjects implements EgressSubjects {
  readonly #sandboxes: EgressSubjects;
  readonly #rooms = new Map<Id<'sandbox'>, EgressSubject>();

  constructor(sandboxes: EgressSubjects) {
    this.#sandboxes = sandboxes;
  }

  async find(sandbox: Id<'sandbox'>): Promise<EgressSubject | undefined> {
    return this.#rooms.get(sandbox) ?? this.#sandboxes.find(sandbox);
  }

  /** No secret is put into what a build asks for: it would be in the image. */
  enter(room: EgressSubject): void {
    this.#rooms.set(room.sandbox, { ...room, rules: { ...room.rules, secrets: [] }, isLate: false });
  }

  leave(room: Id<'sandbox'>): void {
    this.#rooms.delete(room);
  }
}

import type { RouteName, Scope } from '@caisson/contract';

/**
 * What each route owes to whom, decided here once more, apart from the table of routes: a route that is new, or whose
 * scope changes, fails until somebody says so here.
 *
 * - `scope`: the least that a key needs.
 * - `elsewhere`: what the strongest key of another tenant gets for what is ours. `404` is the answer for what does not
 *   exist, word for word. `own` answers, and must not show anything of ours. `refused` is not allowed at all.
 * - `operator`: no key of a tenant may, whatever its scope.
 * - `ends`: what it is asked about is not as before, and the next one gets another.
 */
export interface Decision {
  readonly scope: Scope | null;
  readonly elsewhere: '404' | 'own' | 'refused';
  readonly operator?: true;
  readonly ends?: true;
}

const on = (scope: Scope): Decision => ({ scope, elsewhere: '404' });
const ending = (scope: Scope): Decision => ({ scope, elsewhere: '404', ends: true });
const own = (scope: Scope | null): Decision => ({ scope, elsewhere: 'own' });
const operator: Decision = { scope: 'admin', elsewhere: 'refused', operator: true };

export const decisions: Record<RouteName, Decision> = {
  'sandbox.create': own('use'),
  'sandbox.ensure': own('use'),
  'sandbox.list': own('read'),
  'sandbox.get': on('read'),
  'sandbox.recreate': ending('use'),
  'sandbox.stop': ending('use'),
  'sandbox.start': ending('use'),
  'sandbox.pause': ending('use'),
  'sandbox.resume': ending('use'),
  'sandbox.destroy': ending('use'),
  'sandbox.rollback': ending('use'),
  'sandbox.fork': on('use'),
  'sandbox.events': on('read'),
  'sandbox.attempts': on('read'),
  'sandbox.attempt': on('read'),
  'sandbox.stats': on('read'),
  'sandbox.route': on('read'),
  'process.exec': on('use'),
  'process.start': on('use'),
  'process.list': on('read'),
  'process.get': on('read'),
  'process.output': on('read'),
  'process.stdin': on('use'),
  'process.signal': on('use'),
  'process.resize': on('use'),
  'process.wait': on('read'),
  'process.forget': on('use'),
  'process.attach': on('use'),
  'file.read': on('read'),
  'file.write': on('use'),
  'file.stat': on('read'),
  'file.list': on('read'),
  'file.mkdir': on('use'),
  'file.move': on('use'),
  'file.remove': on('use'),
  'file.symlink': on('use'),
  'file.chmod': on('use'),
  'file.edit': on('use'),
  'file.grep': on('read'),
  'file.glob': on('read'),
  'file.tree.read': on('read'),
  'file.tree.write': on('use'),
  'file.watch': on('read'),
  'tool.run': on('use'),
  'tool.list': own('read'),
  'snapshot.create': on('use'),
  'snapshot.turn': on('use'),
  'snapshot.list': own('read'),
  'snapshot.get': on('read'),
  'snapshot.label': on('use'),
  'snapshot.delete': on('use'),
  'snapshot.restore': on('use'),
  'snapshot.diff': on('read'),
  'snapshot.diff.file': on('read'),
  'snapshot.export': on('read'),
  'snapshot.import': own('use'),
  'port.list': on('read'),
  'port.open': on('use'),
  'port.close': on('use'),
  'port.link': on('use'),
  'port.wait': on('read'),
  'port.connect': on('use'),
  'network.get': on('read'),
  'network.set': on('use'),
  'network.presets': own('read'),
  'egress.log': on('read'),
  'egress.usage': on('read'),
  'plan.make': own('use'),
  'route.explain': own('read'),
  'pool.list': own('admin'),
  'pool.set': operator,
  'host.inspect': own('admin'),
  'host.stale': own('admin'),
  'host.reap': own('admin'),
  'capabilities.get': own('read'),
  'secret.list': own('read'),
  'secret.set': own('manage'),
  'secret.delete': own('manage'),
  'event.list': own('read'),
  'profile.list': own('read'),
  'profile.get': own('read'),
  'profile.check': own('read'),
  'profile.add': operator,
  'spec.normalize': own('read'),
  'key.create': own('admin'),
  'key.list': own('admin'),
  'key.revoke': on('admin'),
  'tenant.list': own('admin'),
  'tenant.set': operator,
  'project.list': own('manage'),
  'project.set': own('admin'),
  'principal.list': own('manage'),
  'principal.set': own('admin'),
  'principal.remove': own('admin'),
  'quota.get': own('read'),
  'quota.set': own('admin'),
  'audit.list': own('admin'),
  'audit.export': own('admin'),
  'credits.show': own('read'),
  'credits.add': operator,
  'credits.history': own('manage'),
  'usage.list': own('manage'),
  'usage.export': own('manage'),
  'system.whoami': own('read'),
  'system.version': own(null),
  'system.doctor': own('read'),
};

import {
  type ActorType,
  actorTypes,
  type PrincipalRecord,
  type Role,
  roleNames,
  type TenantRecord,
} from '@caisson/contract';
import { type Command, Option } from 'commander';
import { type CommandContext, withServer } from '../command-context.ts';
import type { ServerChoice } from '../connect.ts';
import { table } from '../output/table.ts';
import { relativeTime } from '../output/time.ts';

interface OfTenant extends ServerChoice {
  readonly tenant?: string;
}

const ofTenant = (command: Command) =>
  withServer(command).option('--tenant <name>', "the operator's choice; else your own");

export function addTenant(parent: Command, context: CommandContext): void {
  const tenant = parent.command('tenant').description('tenants: who shares this installation');
  withServer(tenant.command('list').description('every tenant for the operator, else your own')).action(
    async (options: ServerChoice) => {
      const items = await (await context.connect(options)).tenancy.tenants();
      context.screen.result({ items }, () => (items.length === 0 ? 'no tenants' : tenantTable(items)));
    },
  );
  const set = async (name: string, change: { suspended?: boolean }, options: ServerChoice) => {
    const changed = await (await context.connect(options)).tenancy.setTenant(name, change);
    context.screen.result(changed, () => tenantTable([changed]));
  };
  withServer(tenant.command('create').description('make a tenant; one that is there stays as it is'))
    .argument('<name>')
    .action((name: string, options: ServerChoice) => set(name, {}, options));
  withServer(tenant.command('suspend').description('refuse its keys from now on; what it has goes on'))
    .argument('<name>')
    .action((name: string, options: ServerChoice) => set(name, { suspended: true }, options));
  withServer(tenant.command('resume').description('take its keys again'))
    .argument('<name>')
    .action((name: string, options: ServerChoice) => set(name, { suspended: false }, options));
}

export function addProject(parent: Command, context: CommandContext): void {
  const project = parent.command('project').description('projects: what sandboxes of a tenant belong to');
  ofTenant(project.command('list').description('the projects of a tenant')).action(async (options: OfTenant) => {
    const items = await (await context.connect(options)).tenancy.projects({ tenant: options.tenant });
    const rows = items.map((item) => [item.name, item.tenant, relativeTime(item.createdAt)]);
    context.screen.result({ items }, () =>
      rows.length === 0 ? 'no projects' : table(['NAME', 'TENANT', 'CREATED'], rows),
    );
  });
  ofTenant(project.command('create').description('make a project; one that is there stays as it is'))
    .argument('<name>')
    .action(async (name: string, options: OfTenant) => {
      const made = await (await context.connect(options)).tenancy.setProject(name, { tenant: options.tenant });
      context.screen.result(made, () => made.name);
    });
}

interface PrincipalOptions extends OfTenant {
  readonly type?: ActorType;
  readonly role?: Role;
}

export function addPrincipal(parent: Command, context: CommandContext): void {
  const principal = parent.command('principal').description('principals: people, agents and automations of a tenant');
  ofTenant(principal.command('list').description('the principals of a tenant')).action(async (options: OfTenant) => {
    const items = await (await context.connect(options)).tenancy.principals({ tenant: options.tenant });
    context.screen.result({ items }, () => (items.length === 0 ? 'no principals' : principalTable(items)));
  });
  ofTenant(principal.command('set').description('make a principal, or change what it is and may do'))
    .argument('<name>')
    .addOption(new Option('--type <type>', 'what it is').choices([...actorTypes]))
    .addOption(new Option('--role <role>', 'the most that its keys may do').choices(roleNames))
    .action(async (name: string, options: PrincipalOptions) => {
      const { type, role, tenant } = options;
      const change = { ...(type === undefined ? {} : { type }), ...(role === undefined ? {} : { role }) };
      const changed = await (await context.connect(options)).tenancy.setPrincipal(name, change, { tenant });
      context.screen.result(changed, () => principalTable([changed]));
    });
  ofTenant(principal.command('remove').description('remove a principal and revoke its keys; what it has stays'))
    .argument('<name>')
    .action(async (name: string, options: OfTenant) => {
      const removed = await (await context.connect(options)).tenancy.removePrincipal(name, { tenant: options.tenant });
      context.screen.result(removed, () => `${removed.name}: ${removed.revokedKeys} keys revoked`);
    });
}

function tenantTable(items: readonly TenantRecord[]): string {
  return table(
    ['NAME', 'STATE', 'SANDBOXES', 'CREATED'],
    items.map((item) => [
      item.name,
      item.suspended ? 'suspended' : 'active',
      String(item.sandboxes),
      relativeTime(item.createdAt),
    ]),
  );
}

function principalTable(items: readonly PrincipalRecord[]): string {
  return table(
    ['NAME', 'TYPE', 'ROLE', 'TENANT', 'CREATED'],
    items.map((item) => [item.name, item.type, item.role, item.tenant, relativeTime(item.createdAt)]),
  );
}

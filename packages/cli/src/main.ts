import { Command } from 'commander';

const program = new Command('gatehouse');
program.description('Operates and develops against a Gatehouse deployment.').version('0.1.0');
await program.parseAsync();

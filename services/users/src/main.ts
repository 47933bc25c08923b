import { runProcess } from '@gatehouse/server/process';
import { readUsersConfig } from './config.ts';
import { createUsersService } from './service.ts';

await runProcess('users', readUsersConfig, createUsersService);

import { runProcess } from '@gatehouse/server/process';
import { readNotificationsConfig } from './config.ts';
import { createNotificationsService } from './service.ts';

await runProcess('notifications', readNotificationsConfig, createNotificationsService);

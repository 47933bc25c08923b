import { runProcess } from '@gatehouse/server/process';
import { readDashboardConfig } from './config.ts';
import { createDashboardService } from './service.ts';

await runProcess('dashboard', readDashboardConfig, createDashboardService);

// Use Google's libraries for Node as their users do: no address and no certificate is set here.
const { JobServiceClient } = require('@google-cloud/aiplatform').v1;
const { Storage } = require('@google-cloud/storage');
const { OAuth2Client } = require('google-auth-library');

const place = 'projects/local/locations/us-central1';

async function main() {
  const authClient = new OAuth2Client();
  authClient.setCredentials({ access_token: process.env.VERTEX_EMULATOR_TOKEN });
  const results = {};

  const [bucket] = await new Storage({ projectId: 'local', authClient }).createBucket('from-node');
  await bucket.file('a/b.txt').save('hello from node');
  results.read = (await bucket.file('a/b.txt').download())[0].toString();
  await bucket.file('big').save(Buffer.alloc(9000000, 'x'), { resumable: true });
  results.size = (await bucket.file('big').download())[0].length;
  results.names = (await bucket.getFiles())[0].map((file) => file.name);

  const jobs = new JobServiceClient({
    apiEndpoint: 'us-central1-aiplatform.googleapis.com',
    projectId: 'local',
    authClient,
  });
  const pool = {
    machineSpec: { machineType: 'n1-standard-4' },
    replicaCount: 1,
    containerSpec: { imageUri: 'python:3.11', command: ['true'] },
  };
  const customJob = { displayName: 'from-node', jobSpec: { workerPoolSpecs: [pool] } };
  const [created] = await jobs.createCustomJob({ parent: place, customJob });
  const [listed] = await jobs.listCustomJobs({ parent: place });
  results.jobs = listed.map((job) => job.displayName);
  results.same = listed[0].name === created.name;
  await jobs.close();
  console.log(JSON.stringify(results));
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});

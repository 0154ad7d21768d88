"""Prices of vCPUs and memory.

Source: the catalog of SkyPilot (github.com/skypilot-org/skypilot-catalog, catalogs/v8/gcp/vms.csv), which
has Google's list prices, read from the Cloud Billing catalog. It has prices of whole machines. These are
linear in vCPUs and GiB, so two machine types of a series give the prices of both: n1-highcpu and
n1-highmem-64, n2-highmem-96 and n2-standard-128, n4-highmem-80 and n4-standard-16, e2-highmem-16 and
e2-standard-32, a2-highgpu-8g and a2-ultragpu-8g, a3-highgpu-8g and a3-ultragpu-8g. "SERIES core" is the price
of one vCPU, "SERIES ram" of one GiB. Where the catalog has only machines with one ratio of both, "KIND vcpu"
is the price of one vCPU with its memory.

To refresh: divide again, or run `vertex-training prices refresh`. `tests/vertex_training/cost` compares the
rows with published prices of machines.
"""

from __future__ import annotations

from vertex_training.cost.rows.text import Rows

CATALOG_DATE = "2026-11-23"
"""Day on which the catalog was read. The day of its commit is not known."""
CATALOG = f"SkyPilot's catalog of Compute Engine's prices, commit 006059e0, read on {CATALOG_DATE}"

MACHINES = Rows(
    source=CATALOG,
    date=CATALOG_DATE,
    derived=True,
    text="""
a2 core, on_demand: asia-southeast1 0.03899896, europe-west4 0.03480198, us-central1 0.03161104
a2 ram, on_demand: asia-southeast1 0.005226, europe-west4 0.004664, us-central1 0.004237
a2 core, spot: asia-southeast1 0.01794, europe-west4 0.0136, us-central1 0.01581
a2 ram, spot: asia-southeast1 0.002403, europe-west4 0.001824, us-central1 0.002118
a3 core, on_demand: asia-south1 0.02651783, asia-south2 0.03062564, europe-west1 0.02807579,
  europe-west4 0.0267728, us-central1 0.02549795, us-east4 0.02549795, us-east5 0.02871847,
  us-west1 0.02549795
a3 ram, on_demand: asia-south1 0.00230916, asia-south2 0.00266685, europe-west1 0.00244482,
  europe-west4 0.00233137, us-central1 0.00222035, us-east4 0.00222035, us-east5 0.00250076,
  us-west1 0.00222035
a3 core, spot: asia-south1 0.00607001, asia-south2 0.007, europe-west1 0.00642001,
  europe-west4 0.00613001, us-central1 0.00778001, us-east4 0.00581998, us-east5 0.00626999,
  us-west1 0.00778001
a3 ram, spot: asia-south1 0.000529, asia-south2 0.00061, europe-west1 0.000559, europe-west4 0.000534,
  us-central1 0.000679, us-east4 0.000507, us-east5 0.000546, us-west1 0.000679
e2 core, on_demand: africa-south1 0.02399375, asia-east1 0.02525563, asia-east2 0.03051938,
  asia-northeast1 0.02802625, asia-northeast2 0.02802625, asia-northeast3 0.02802625,
  asia-south1 0.02619937, asia-south2 0.02619937, asia-southeast1 0.02690937, asia-southeast2 0.02933125,
  australia-southeast1 0.03095062, australia-southeast2 0.02630813, europe-central2 0.0263925,
  europe-north1 0.02401625, europe-southwest1 0.02573813, europe-west1 0.02399375,
  europe-west12 0.0281375, europe-west2 0.02810375, europe-west3 0.02810375, europe-west4 0.02401313,
  europe-west6 0.02857187, europe-west8 0.02530188, europe-west9 0.02530188, me-central1 0.02650125,
  me-central2 0.03489813, me-west1 0.0239925, northamerica-northeast1 0.02401313,
  northamerica-northeast2 0.02401313, southamerica-east1 0.03462437, southamerica-west1 0.03119062,
  us-central1 0.02181125, us-east1 0.02181125, us-east4 0.0245675, us-east5 0.02181125,
  us-south1 0.02573813, us-west1 0.02181125, us-west2 0.02619938, us-west3 0.02619938, us-west4 0.0245675
e2 ram, on_demand: africa-south1 0.00321602, asia-east1 0.00338508, asia-east2 0.00409031,
  asia-northeast1 0.00373914, asia-northeast2 0.00373914, asia-northeast3 0.00373914,
  asia-south1 0.0035107, asia-south2 0.0035107, asia-southeast1 0.00360594, asia-southeast2 0.00393047,
  australia-southeast1 0.00414758, australia-southeast2 0.003525, europe-central2 0.00353734,
  europe-north1 0.00321813, europe-southwest1 0.00345, europe-west1 0.00321602, europe-west12 0.00377125,
  europe-west2 0.00376602, europe-west3 0.00376602, europe-west4 0.0032182, europe-west6 0.00382984,
  europe-west8 0.00339102, europe-west9 0.00339102, me-central1 0.00355203, me-central2 0.00467773,
  me-west1 0.00321594, northamerica-northeast1 0.0032182, northamerica-northeast2 0.0032182,
  southamerica-east1 0.00464023, southamerica-west1 0.00418063, us-central1 0.00292359,
  us-east1 0.00292359, us-east4 0.00329195, us-east5 0.00292359, us-south1 0.00344969,
  us-west1 0.00292359, us-west2 0.00351141, us-west3 0.00351141, us-west4 0.00329195
e2 core, spot: africa-south1 0.00679, asia-east1 0.01161, asia-east2 0.00522, asia-northeast1 0.0123,
  asia-northeast2 0.01054, asia-northeast3 0.00793, asia-south1 0.0115, asia-south2 0.00977,
  asia-southeast1 0.01181, asia-southeast2 0.00508, australia-southeast1 0.0126,
  australia-southeast2 0.00989, europe-central2 0.00662, europe-north1 0.00527, europe-southwest1 0.01184,
  europe-west1 0.0096, europe-west12 0.00651, europe-west2 0.00773, europe-west3 0.01124,
  europe-west4 0.01, europe-west6 0.01194, europe-west8 0.01106, europe-west9 0.01041, me-central1 0.0106,
  me-central2 0.01437, me-west1 0.00937, northamerica-northeast1 0.00591, northamerica-northeast2 0.00363,
  southamerica-east1 0.0061, southamerica-west1 0.00806, us-central1 0.00957, us-east1 0.00957,
  us-east4 0.01183, us-east5 0.00492, us-south1 0.00656, us-west1 0.00957, us-west2 0.00739,
  us-west3 0.00574, us-west4 0.00256
e2 ram, spot: africa-south1 0.00090898, asia-east1 0.00155602, asia-east2 0.00069898,
  asia-northeast1 0.00164203, asia-northeast2 0.00140703, asia-northeast3 0.00105898,
  asia-south1 0.00153898, asia-south2 0.00131102, asia-southeast1 0.00158203, asia-southeast2 0.00068203,
  australia-southeast1 0.00169102, australia-southeast2 0.00132602, europe-central2 0.00088297,
  europe-north1 0.00070602, europe-southwest1 0.00158602, europe-west1 0.001285, europe-west12 0.00087203,
  europe-west2 0.00103398, europe-west3 0.001505, europe-west4 0.00133898, europe-west6 0.0016,
  europe-west8 0.00148797, europe-west9 0.00138898, me-central1 0.00142102, me-central2 0.00192398,
  me-west1 0.00125602, northamerica-northeast1 0.00079297, northamerica-northeast2 0.000485,
  southamerica-east1 0.00081602, southamerica-west1 0.00108398, us-central1 0.00128203,
  us-east1 0.00128203, us-east4 0.00158398, us-east5 0.00066203, us-south1 0.00088, us-west1 0.00128203,
  us-west2 0.00099203, us-west3 0.00076703, us-west4 0.00034297
n1 core, on_demand: asia-east1 0.03660216, asia-east2 0.04423111, asia-northeast1 0.04061791,
  asia-northeast2 0.04061791, asia-northeast3 0.04061791, asia-south1 0.03796987, asia-south2 0.03796987,
  asia-southeast1 0.03899916, asia-southeast2 0.04250895, australia-southeast1 0.04485609,
  australia-southeast2 0.04485609, europe-central2 0.03825013, europe-north1 0.03480584,
  europe-west1 0.03477293, europe-west2 0.04073002, europe-west3 0.04073002, europe-west4 0.03480214,
  europe-west6 0.0414091, me-west1 0.03477193, northamerica-northeast1 0.03480214,
  northamerica-northeast2 0.03480234, southamerica-east1 0.05017981, us-central1 0.03161096,
  us-east1 0.03161096, us-east4 0.03560468, us-west1 0.03161096, us-west2 0.03796975, us-west3 0.03796975,
  us-west4 0.03560468
n1 ram, on_demand: asia-east1 0.00490597, asia-east2 0.00592798, asia-northeast1 0.00541902,
  asia-northeast2 0.00541902, asia-northeast3 0.00541902, asia-south1 0.00508802, asia-south2 0.00508802,
  asia-southeast1 0.00522597, asia-southeast2 0.00569634, australia-southeast1 0.00601099,
  australia-southeast2 0.00601099, europe-central2 0.00512698, europe-north1 0.00466403,
  europe-west1 0.00466102, europe-west2 0.005458, europe-west3 0.005458, europe-west4 0.00466397,
  europe-west6 0.00554999, me-west1 0.00466074, northamerica-northeast1 0.00466397,
  northamerica-northeast2 0.00466394, southamerica-east1 0.00672503, us-central1 0.00423702,
  us-east1 0.00423702, us-east4 0.00477106, us-west1 0.00423702, us-west2 0.00508903, us-west3 0.00508903,
  us-west4 0.00477106
n1 core, spot: asia-east1 0.00593012, asia-east2 0.00872004, asia-northeast1 0.0110999,
  asia-northeast2 0.01528985, asia-northeast3 0.01030001, asia-south1 0.00689997, asia-south2 0.00987998,
  asia-southeast1 0.0064399, asia-southeast2 0.00787986, australia-southeast1 0.01165989,
  australia-southeast2 0.00650982, europe-central2 0.00649988, europe-north1 0.00949998,
  europe-west1 0.01040012, europe-west2 0.00848005, europe-west3 0.01024998, europe-west4 0.01391997,
  europe-west6 0.01128983, me-west1 0.0073399, northamerica-northeast1 0.01592007,
  northamerica-northeast2 0.0116997, southamerica-east1 0.00832986, us-central1 0.00881982,
  us-east1 0.00881982, us-east4 0.00786036, us-west1 0.00881982, us-west2 0.0126699, us-west3 0.01100029,
  us-west4 0.01083987
n1 ram, spot: asia-east1 0.00079397, asia-east2 0.001176, asia-northeast1 0.00148103,
  asia-northeast2 0.00203803, asia-northeast3 0.001375, asia-south1 0.00092399, asia-south2 0.00132399,
  asia-southeast1 0.00086401, asia-southeast2 0.00105502, australia-southeast1 0.00162201,
  australia-southeast2 0.00087104, europe-central2 0.00087201, europe-north1 0.00127399,
  europe-west1 0.00139397, europe-west2 0.00113398, europe-west3 0.00137399, europe-west4 0.00186601,
  europe-west6 0.00152104, me-west1 0.00098103, northamerica-northeast1 0.00214299,
  northamerica-northeast2 0.00156904, southamerica-east1 0.00111401, us-central1 0.00113003,
  us-east1 0.00113003, us-east4 0.00091694, us-west1 0.00113003, us-west2 0.00170701, us-west3 0.00147395,
  us-west4 0.00144803
n2 core, on_demand: africa-south1 0.03477302, asia-east1 0.03660203, asia-east2 0.04423094,
  asia-northeast1 0.04061797, asia-northeast2 0.04059495, asia-northeast3 0.04059495,
  asia-south1 0.0379701, asia-south2 0.0379701, asia-southeast1 0.03899896, asia-southeast2 0.04250901,
  australia-southeast1 0.04485604, australia-southeast2 0.03812797, europe-central2 0.0382499,
  europe-north1 0.03480604, europe-southwest1 0.03730099, europe-west1 0.03477302,
  europe-west12 0.04077813, europe-west2 0.0407301, europe-west3 0.0407301, europe-west4 0.03480198,
  europe-west6 0.04140896, europe-west8 0.03666875, europe-west9 0.03666875, me-central1 0.0384074,
  me-central2 0.0505775, me-west1 0.03477214, northamerica-northeast1 0.03480198,
  northamerica-northeast2 0.03480198, southamerica-east1 0.05018, southamerica-west1 0.04520375,
  us-central1 0.03161099, us-east1 0.03161099, us-east4 0.03560495, us-east5 0.03161099,
  us-south1 0.03730099, us-west1 0.03161099, us-west2 0.03797005, us-west3 0.03797005, us-west4 0.03560302
n2 ram, on_demand: africa-south1 0.004661, asia-east1 0.004906, asia-east2 0.00592801,
  asia-northeast1 0.005419, asia-northeast2 0.00544101, asia-northeast3 0.00544101,
  asia-south1 0.00508798, asia-south2 0.00508798, asia-southeast1 0.005226, asia-southeast2 0.00569632,
  australia-southeast1 0.00601099, australia-southeast2 0.005109, europe-central2 0.00512702,
  europe-north1 0.004664, europe-southwest1 0.00499965, europe-west1 0.004661, europe-west12 0.00546574,
  europe-west2 0.00545798, europe-west3 0.00545798, europe-west4 0.004664, europe-west6 0.005551,
  europe-west8 0.00491492, europe-west9 0.00491492, me-central1 0.00514796, me-central2 0.00677922,
  me-west1 0.0046607, northamerica-northeast1 0.004664, northamerica-northeast2 0.004664,
  southamerica-east1 0.006725, southamerica-west1 0.00605891, us-central1 0.004237, us-east1 0.004237,
  us-east4 0.00477101, us-east5 0.004237, us-south1 0.00499965, us-west1 0.004237, us-west2 0.00508899,
  us-west3 0.00508899, us-west4 0.004771
n2 core, spot: africa-south1 0.0088399, asia-east1 0.00973, asia-east2 0.0130001, asia-northeast1 0.00967,
  asia-northeast2 0.01234005, asia-northeast3 0.01053005, asia-south1 0.00903995, asia-south2 0.0034201,
  asia-southeast1 0.0139199, asia-southeast2 0.02043005, australia-southeast1 0.01429005,
  australia-southeast2 0.0143999, europe-central2 0.0082999, europe-north1 0.01287995,
  europe-southwest1 0.0069899, europe-west1 0.0049799, europe-west12 0.00608, europe-west2 0.00593005,
  europe-west3 0.01485995, europe-west4 0.01208, europe-west6 0.01102, europe-west8 0.0058299,
  europe-west9 0.0079399, me-central1 0.0096499, me-central2 0.0063199, me-west1 0.01365005,
  northamerica-northeast1 0.0090601, northamerica-northeast2 0.00350005, southamerica-east1 0.01085005,
  southamerica-west1 0.0080401, us-central1 0.01034005, us-east1 0.01034005, us-east4 0.00785005,
  us-east5 0.01214, us-south1 0.01018995, us-west1 0.01034005, us-west2 0.0102001, us-west3 0.01370005,
  us-west4 0.01516
n2 ram, spot: africa-south1 0.00118702, asia-east1 0.00151, asia-east2 0.00174298,
  asia-northeast1 0.00129, asia-northeast2 0.00165399, asia-northeast3 0.00140899, asia-south1 0.00142101,
  asia-south2 0.00045798, asia-southeast1 0.00186702, asia-southeast2 0.00273899,
  australia-southeast1 0.00190899, australia-southeast2 0.00193202, europe-central2 0.00111202,
  europe-north1 0.00173601, europe-southwest1 0.00093702, europe-west1 0.00066702, europe-west12 0.000815,
  europe-west2 0.00078899, europe-west3 0.00199101, europe-west4 0.00163, europe-west6 0.001475,
  europe-west8 0.00078202, europe-west9 0.00106202, me-central1 0.00129202, me-central2 0.00084702,
  me-west1 0.00182899, northamerica-northeast1 0.00122298, northamerica-northeast2 0.00046899,
  southamerica-east1 0.00145399, southamerica-west1 0.00107798, us-central1 0.00138399,
  us-east1 0.00138399, us-east4 0.00105399, us-east5 0.001625, us-south1 0.00137101, us-west1 0.00138399,
  us-west2 0.00137298, us-west3 0.00183899, us-west4 0.00203
n4 core, on_demand: africa-south1 0.03434363, asia-east1 0.03611462, asia-east2 0.0436315,
  asia-northeast1 0.04005475, asia-northeast2 0.04005475, asia-northeast3 0.04005475,
  asia-south1 0.03243712, asia-south2 0.03243712, asia-southeast1 0.03847875, asia-southeast2 0.04194062,
  australia-southeast1 0.0389875, australia-southeast2 0.040547, europe-central2 0.03774037,
  europe-southwest1 0.0368045, europe-west1 0.0343435, europe-west2 0.03555613, europe-west3 0.0368045,
  europe-west4 0.0327495, europe-west6 0.04085937, europe-west8 0.03618088, europe-west9 0.03618088,
  me-central1 0.03789538, me-central2 0.049904, me-west1 0.034309, northamerica-northeast1 0.0343435,
  northamerica-northeast2 0.0343435, southamerica-east1 0.04952662, southamerica-west1 0.044602,
  us-central1 0.03119, us-east1 0.03119, us-east4 0.03119, us-east5 0.03119, us-south1 0.0368045,
  us-west1 0.03119, us-west2 0.037493, us-west3 0.037493, us-west4 0.03512887
n4 ram, on_demand: africa-south1 0.00389784, asia-east1 0.004099, asia-east2 0.00495213,
  asia-northeast1 0.004546, asia-northeast2 0.004546, asia-northeast3 0.004546, asia-south1 0.00368166,
  asia-south2 0.00368166, asia-southeast1 0.00436734, asia-southeast2 0.00476031,
  australia-southeast1 0.004425, australia-southeast2 0.004602, europe-central2 0.00428334,
  europe-southwest1 0.00417716, europe-west1 0.00389787, europe-west2 0.00403566, europe-west3 0.00417716,
  europe-west4 0.003717, europe-west6 0.00463734, europe-west8 0.00410634, europe-west9 0.00410634,
  me-central1 0.00430116, me-central2 0.005664, me-west1 0.003894, northamerica-northeast1 0.00389787,
  northamerica-northeast2 0.00389787, southamerica-east1 0.00562116, southamerica-west1 0.00506216,
  us-central1 0.00354, us-east1 0.00354, us-east4 0.00354, us-east5 0.00354, us-south1 0.00417716,
  us-west1 0.00354, us-west2 0.0042555, us-west3 0.0042555, us-west4 0.00398716
n4 core, spot: africa-south1 0.017045, asia-east1 0.01783975, asia-east2 0.00952025,
  asia-northeast1 0.01682975, asia-northeast2 0.0128005, asia-northeast3 0.0167395, asia-south1 0.0139405,
  asia-south2 0.0066205, asia-southeast1 0.0145, asia-southeast2 0.0173495,
  australia-southeast1 0.01628925, australia-southeast2 0.00992025, europe-central2 0.016789,
  europe-southwest1 0.01521975, europe-west1 0.00692, europe-west2 0.0103695, europe-west3 0.01538025,
  europe-west4 0.00908975, europe-west6 0.0117005, europe-west8 0.00983025, europe-west9 0.0122695,
  me-central1 0.01030037, me-central2 0.0088105, me-west1 0.0129005, northamerica-northeast1 0.0114095,
  northamerica-northeast2 0.0102695, southamerica-east1 0.0158, southamerica-west1 0.01211025,
  us-central1 0.01154025, us-east1 0.01154025, us-east4 0.01264, us-east5 0.0084195, us-south1 0.011,
  us-west1 0.01154025, us-west2 0.01538975, us-west3 0.0096705, us-west4 0.0175605
n4 ram, spot: africa-south1 0.00113297, asia-east1 0.00202803, asia-east2 0.00108197,
  asia-northeast1 0.00191303, asia-northeast2 0.00145394, asia-northeast3 0.00190106,
  asia-south1 0.00158394, asia-south2 0.00088394, asia-southeast1 0.00165, asia-southeast2 0.00197106,
  australia-southeast1 0.00185097, australia-southeast2 0.00112697, europe-central2 0.00190791,
  europe-southwest1 0.00107303, europe-west1 0.000785, europe-west2 0.00118106, europe-west3 0.00174697,
  europe-west4 0.00103303, europe-west6 0.00156394, europe-west8 0.00111697, europe-west9 0.00118606,
  me-central1 0.00179913, me-central2 0.00117894, me-west1 0.00105894, northamerica-northeast1 0.00129606,
  northamerica-northeast2 0.00116606, southamerica-east1 0.001795, southamerica-west1 0.00137697,
  us-central1 0.00131197, us-east1 0.00131197, us-east4 0.00131, us-east5 0.00095606, us-south1 0.00125,
  us-west1 0.00131197, us-west2 0.00174803, us-west3 0.00109894, us-west4 0.00199394
a2-highgpu vcpu, on_demand: asia-northeast1 0.0790026, asia-northeast3 0.0790026, me-west1 0.06778542,
  us-east1 0.06162313, us-west1 0.06162313, us-west3 0.07401708, us-west4 0.06939958
a2-highgpu vcpu, spot: asia-northeast1 0.03481917, asia-northeast3 0.02852208, me-west1 0.02793,
  us-east1 0.0308125, us-west1 0.0308125, us-west3 0.03379458, us-west4 0.027755
a2-ultragpu vcpu, on_demand: us-east4 0.10319417, us-east5 0.09163521
a2-ultragpu vcpu, spot: us-east4 0.04134417, us-east5 0.02599417
a3-highgpu vcpu, on_demand: asia-east1 0.05266255, asia-northeast1 0.05840678, asia-southeast1 0.05611,
  australia-southeast1 0.05685135, europe-north1 0.05007918, europe-west3 0.05366764,
  europe-west9 0.05275803, us-west4 0.05122534
a3-highgpu vcpu, spot: asia-east1 0.01318601, asia-northeast1 0.01461601, asia-southeast1 0.013415,
  australia-southeast1 0.011995, europe-north1 0.00777702, europe-west3 0.01229, europe-west9 0.01086399,
  us-west4 0.01171798
a3-megagpu vcpu, on_demand: asia-east1 0.05266255, asia-northeast1 0.05840678, asia-southeast1 0.05611,
  australia-southeast1 0.05685135, europe-north1 0.05007918, europe-west3 0.05366764, us-west4 0.05122534
a3-megagpu vcpu, spot: asia-east1 0.01318601, asia-northeast1 0.01461601, asia-southeast1 0.013415,
  australia-southeast1 0.011995, europe-north1 0.00777702, europe-west3 0.01229, us-west4 0.01171798
a3-ultragpu vcpu, on_demand: us-south1 0.06461549
a3-ultragpu vcpu, spot: us-south1 0.0140783
c2-standard vcpu, on_demand: asia-east1 0.060443, asia-east2 0.07304, asia-northeast1 0.066964,
  asia-northeast2 0.066964, asia-northeast3 0.066964, asia-south1 0.062698, asia-south2 0.062698,
  asia-southeast1 0.064396, australia-southeast1 0.074068, europe-north1 0.057472, europe-west1 0.057425,
  europe-west2 0.067253, europe-west3 0.067253, europe-west4 0.057468, europe-west6 0.068386,
  me-central2 0.08352333, me-west1 0.05742233, northamerica-northeast1 0.057468,
  southamerica-east1 0.08286, southamerica-west1 0.074649, us-central1 0.052202, us-east1 0.052202,
  us-east4 0.058786, us-east5 0.052202, us-west1 0.052202, us-west2 0.062702, us-west3 0.062702,
  us-west4 0.058786
c2-standard vcpu, spot: asia-east1 0.015876, asia-east2 0.01536, asia-northeast1 0.014724,
  asia-northeast2 0.02678, asia-northeast3 0.012042, asia-south1 0.020948, asia-south2 0.00843,
  asia-southeast1 0.032196, australia-southeast1 0.030762, europe-north1 0.019348, europe-west1 0.021324,
  europe-west2 0.015494, europe-west3 0.013416, europe-west4 0.017016, europe-west6 0.026472,
  me-central2 0.009948, me-west1 0.005168, northamerica-northeast1 0.009282, southamerica-east1 0.011042,
  southamerica-west1 0.010132, us-central1 0.016992, us-east1 0.016992, us-east4 0.01765,
  us-east5 0.005394, us-west1 0.016992, us-west2 0.012592, us-west3 0.014358, us-west4 0.013134
g2-standard vcpu, on_demand: asia-east1 0.0424925, asia-northeast1 0.0471275, asia-northeast3 0.0471275,
  asia-south1 0.03820063, asia-southeast1 0.04527437, europe-west1 0.04040813, europe-west2 0.04178375,
  europe-west3 0.04325, europe-west4 0.03857125, europe-west6 0.04807687, me-central2 0.05871688,
  northamerica-northeast1 0.04040813, northamerica-northeast2 0.04040813, us-central1 0.03669812,
  us-east1 0.03669812, us-east4 0.03657813, us-west1 0.03669812, us-west4 0.04133312
g2-standard vcpu, spot: asia-east1 0.01122375, asia-northeast1 0.02355625, asia-northeast3 0.00913625,
  asia-south1 0.01527625, asia-southeast1 0.01883813, europe-west1 0.01324, europe-west2 0.01935188,
  europe-west3 0.02098188, europe-west4 0.01787375, europe-west6 0.02203625, me-central2 0.02187187,
  northamerica-northeast1 0.01250375, northamerica-northeast2 0.01343375, us-central1 0.01468375,
  us-east1 0.01468375, us-east4 0.01462813, us-west1 0.01468375, us-west4 0.01281188
m1-ultramem vcpu, on_demand: asia-east1 0.1826185, asia-northeast1 0.1923415, asia-northeast2 0.1923415,
  asia-northeast3 0.1923415, asia-south1 0.18043513, asia-south2 0.18040625, asia-southeast1 0.18528787,
  asia-southeast2 0.20201363, australia-southeast1 0.21317275, australia-southeast2 0.223405,
  europe-central2 0.19338613, europe-southwest1 0.1856465, europe-west1 0.17347325,
  europe-west2 0.19338613, europe-west3 0.19338613, europe-west4 0.16541212, europe-west6 0.206077,
  europe-west8 0.18249988, europe-west9 0.18249988, me-west1 0.17306025,
  northamerica-northeast1 0.16540262, northamerica-northeast2 0.17306025, southamerica-east1 0.2376925,
  southamerica-west1 0.22497838, us-central1 0.1573275, us-east1 0.1573275, us-east4 0.177597,
  us-west1 0.1573275, us-west2 0.18046325, us-west4 0.177597
m1-ultramem vcpu, spot: asia-east1 0.02631337, asia-northeast1 0.02892562, asia-northeast2 0.0190735,
  asia-northeast3 0.02953613, asia-south1 0.02167162, asia-south2 0.01622713, asia-southeast1 0.0250555,
  asia-southeast2 0.01876725, australia-southeast1 0.019814, australia-southeast2 0.02351113,
  europe-central2 0.01739012, europe-southwest1 0.01684162, europe-west1 0.0412755,
  europe-west2 0.01739012, europe-west3 0.0266095, europe-west4 0.01942187, europe-west6 0.02458788,
  europe-west8 0.022164, europe-west9 0.02260037, me-west1 0.03660475, northamerica-northeast1 0.01582887,
  northamerica-northeast2 0.02360312, southamerica-east1 0.026867, southamerica-west1 0.0203605,
  us-central1 0.02940988, us-east1 0.02940988, us-east4 0.02899375, us-west1 0.02940988, us-west2 0.03351,
  us-west4 0.0165275
""",
)

PUBLISHED = Rows(
    source="Published price of n1-standard-4 with Spot on Vertex AI, less its fee",
    date=CATALOG_DATE,
    derived=True,
    text="""
n1 core, spot: asia-southeast1 0.00942176
n1 ram, spot: asia-southeast1 0.00126254
""",
)
"""Divided into vCPUs and memory as the price on demand is.

Its day is not known; the date is that of recording it. Spot prices change from month to month.
"""

TABLES = (MACHINES, PUBLISHED)

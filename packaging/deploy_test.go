package packaging

import (
	"os"
	"testing"

	batch "k8s.io/api/batch/v1"
	"sigs.k8s.io/yaml"
)

// The manifest has only fields that Kubernetes knows, each of the right type.
func TestCronJob(t *testing.T) {
	text, err := os.ReadFile("../examples/deploy/kubernetes/cronjob.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var job batch.CronJob
	if err := yaml.UnmarshalStrict(text, &job); err != nil {
		t.Fatal(err)
	}
	pod := job.Spec.JobTemplate.Spec.Template.Spec
	if c := pod.Containers[0].SecurityContext; !*c.ReadOnlyRootFilesystem || *c.AllowPrivilegeEscalation || !*pod.SecurityContext.RunAsNonRoot {
		t.Error("the container may do more than it needs")
	}
	if job.APIVersion != "batch/v1" || job.Kind != "CronJob" || job.Spec.ConcurrencyPolicy != batch.ForbidConcurrent {
		t.Errorf("%s %s %s", job.APIVersion, job.Kind, job.Spec.ConcurrencyPolicy)
	}
	for _, wrong := range []string{"spec: {shedule: x}", "spec: {schedule: [x]}"} {
		if yaml.UnmarshalStrict([]byte(wrong), &job) == nil {
			t.Errorf("%s is accepted", wrong)
		}
	}
}

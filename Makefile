# SPDX-License-Identifier: Apache-2.0
.DEFAULT_GOAL := help
.PHONY: help check demo verify suites style format docs

help: ## what can be done here
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 10

check: style ## style and every unit test, without root; before a pull request
	mvn -B -ntp -q -Dspotless.check.skip -Dcheckstyle.skip verify -DskipITs

demo: ## TPC-DS with sort shuffle and with ours, compared
	bin/demo

verify: ## every test that needs no RDMA device
	mvn -B verify

suites: ## Spark's own test suites with ours
	bin/spark-suites

style: ## look at the layout of every source file, without a build; the first part of the gate
	mvn -B -q -ntp spotless:check@check-format checkstyle:check@check-style

format: ## lay the Java sources out as the build wants them
	mvn -B -q spotless:apply

docs: ## write docs/configuration.md and the table of docs/metrics.md anew
	mvn -B -q -pl plugin -am test -Dtest=ConfigurationDocTest,MetricsDocTest -Dsurefire.failIfNoSpecifiedTests=false -Dregenerate.docs=true

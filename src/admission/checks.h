// Field checks that several kinds share (spec: crds 3.4, 4.6 to 4.12). Internal to the room.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "admission/findings.h"
#include "base/clock.h"

namespace kollect::admission {

/// name-ref: not blank, no "/" (spec: crds 4.6).
void check_name_ref(Findings& findings, const std::string& path, std::string_view name);
/// ns-ref: name a DNS-1123 subdomain, namespace a DNS-1123 label (spec: crds 4.6).
void check_object_ref(Findings& findings, const std::string& path,
                      const api::ObjectReference& reference);
/// unique: no empty and no repeated entry; reported as Invalid (spec: crds 4.6).
void check_unique(Findings& findings, const std::string& path,
                  const std::vector<std::string>& values);
/// Version and kind are not empty; one Required at `path`.
void check_gvk(Findings& findings, const std::string& path, const api::GroupVersionKind& gvk);

/// Value of a duration member; none when it is absent.
std::optional<base::Duration> duration_of(const std::string& text);
/// 0 to 24h when present.
void check_interval(Findings& findings, const std::string& path, const std::string& text);
/// Not below a scope's floor when that is positive and the member is present.
void check_floor(Findings& findings, const std::string& path, const std::string& text,
                 const std::string& floor);

/// A selector that can be compiled; Invalid at its path (spec: selection L-11).
void check_selector(Findings& findings, const std::string& path,
                    const std::optional<api::LabelSelector>& selector);
/// The rules of a collection filter: gvk, matchPolicy and selectors of each resource rule.
void check_resource_rules(Findings& findings, const std::vector<api::ResourceRule>& rules);

/// What is wrong with a document template (spec: crds 4.7), none when it may be used.
std::optional<std::string> document_template_problem(std::string_view text);
/// The same for a row template.
std::optional<std::string> row_template_problem(std::string_view text);
/// What is wrong with a branch name (spec: crds 4.8); the empty name is fine.
std::optional<std::string> branch_problem(std::string_view text);
/// True for an option key that looks like a credential (spec: crds 4.11).
bool looks_like_credential(std::string_view key);

/// Endpoint guard per family (spec: crds 4.9): why the endpoint is refused.
std::optional<std::string> git_endpoint_problem(std::string_view endpoint,
                                                const Settings& settings);
std::optional<std::string> object_store_endpoint_problem(std::string_view endpoint,
                                                         const Settings& settings);
std::optional<std::string> url_problem(std::string_view url, const Settings& settings);
std::optional<std::string> broker_problem(std::string_view broker, const Settings& settings);

}  // namespace kollect::admission

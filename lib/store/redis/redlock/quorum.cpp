// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Quorum: failures without a majority.
#include "quorum.hpp"

#include <tenure/errc.hpp>

#include <string>
#include <utility>
#include <vector>

namespace tenure::redlock
{

namespace
{

std::string words_of(NodeAccount const& account)
{
    if (!account.replied)
        return "no answer in time";
    if (account.failure == nullptr)
        return std::string(account.words);
    auto const& [effect, error, detail, fatal] = *account.failure;
    return !detail.empty() ? detail : error ? error.message() : "not asked in time";
}

} // namespace

Failure no_majority(
    Quorum const& quorum, std::string what, std::vector<NodeAccount> const& accounts,
    std::optional<Failure::Effect> effect)
{
    using enum Failure::Effect;
    auto detail = std::move(what) + ": no majority, " + std::to_string(quorum.majority()) + " of " +
                  std::to_string(quorum.size()) + " servers are needed";
    error_code error;
    std::size_t fatal = 0;
    auto seen = not_sent;
    for (std::size_t node = 0; node < accounts.size(); ++node) {
        auto const name = quorum.nodes()[node]->describe();
        auto const words = words_of(accounts[node]);
        // most errors begin with the name of their server
        if (words.starts_with(name))
            detail.append("; ").append(words);
        else if (!words.empty())
            detail.append("; ").append(name).append(": ").append(words);
        auto const* const failure = accounts[node].failure;
        // a silent node may have executed the request, or may do so later
        auto const its_effect = !accounts[node].replied ? unknown : failure == nullptr ? refused : failure->effect;
        if (its_effect == unknown || seen == not_sent)
            seen = its_effect;
        if (failure == nullptr)
            continue;
        fatal += failure->fatal ? 1U : 0U;
        // an error that a person can act on is more useful than a missing answer
        if (failure->error && (!error || error == errc::store_unavailable))
            error = failure->error;
    }
    auto const known = effect.value_or(seen);
    return {
        known, error ? error : make_error_code(errc::store_unavailable), std::move(detail),
        known != unknown && fatal >= quorum.veto()};
}

} // namespace tenure::redlock

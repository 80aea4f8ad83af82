// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// TokenAgreement: rounds of proposals.
#include "token_agreement.hpp"

#include <algorithm>
#include <utility>

namespace tenure::redlock
{

using redis::TokenAccepted;
using redis::TokenReply;
using redis::TokenTooLow;

TokenAgreement::TokenAgreement(Quorum const& quorum)
    : majority_(quorum.majority())
    , asked_(quorum.size())
    , answers_(quorum.size())
{
}

std::uint64_t TokenAgreement::first_token(Votes<ClaimReply> const& grants)
{
    std::uint64_t highest = 0;
    for (std::size_t node = 0; node < grants.size(); ++node)
        if (auto const* const grant = grants.get<Granted>(node))
            highest = std::max(highest, grant->fencing_token);
    return highest + 1;
}

std::uint64_t TokenAgreement::propose(std::uint64_t token, Votes<ClaimReply> const& grants)
{
    token_ = token;
    answers_ = Votes<TokenReply>(grants.size());
    for (std::size_t node = 0; node < grants.size(); ++node)
        asked_[node] = grants.get<Granted>(node) != nullptr;
    return ++round_;
}

TokenAgreement::State TokenAgreement::cast(std::size_t node, std::uint64_t round, TokenReply reply)
{
    if (round != round_)
        return State::open;
    answers_.cast(node, std::move(reply));
    auto const accepted = answers_.count<TokenAccepted>();
    if (accepted >= majority_)
        return State::accepted;
    auto const open = static_cast<std::size_t>(std::ranges::count(asked_, true)) - answers_.cast();
    if (accepted + open >= majority_)
        return State::open;
    return next_token() > 1 ? State::too_low : State::failed;
}

std::uint64_t TokenAgreement::next_token() const
{
    std::uint64_t highest = 0;
    for (std::size_t node = 0; node < answers_.size(); ++node)
        if (auto const* const low = answers_.get<TokenTooLow>(node))
            highest = std::max(highest, low->last);
    return highest + 1;
}

char const* TokenAgreement::words(std::size_t node) const
{
    if (answers_.get<TokenAccepted>(node))
        return "granted with its fencing token, and given back";
    if (answers_.get<NotOwner>(node))
        return "granted, and lost before the fencing token was agreed on";
    return "granted, but did not accept the fencing token; given back";
}

} // namespace tenure::redlock

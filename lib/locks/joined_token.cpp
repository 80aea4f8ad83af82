// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "joined_token.hpp"

#include <algorithm>
#include <utility>

namespace tenure::locks
{

std::shared_ptr<JoinedToken> JoinedToken::join(std::shared_ptr<Runtime> runtime, std::vector<TokenStatePtr> tokens)
{
    auto joined = std::make_shared<JoinedToken>(std::move(runtime), std::move(tokens));
    for (auto const& token : joined->tokens_)
        if (!token->set_dependent(joined))
            (void)joined->cancelled();
    return joined;
}

JoinedToken::JoinedToken(std::shared_ptr<Runtime> runtime, std::vector<TokenStatePtr> tokens)
    : TokenState(std::move(runtime), Instant::max(), CancelReason::none)
    , tokens_(std::move(tokens))
{
}

bool JoinedToken::cancelled() const noexcept
{
    if (TokenState::cancelled())
        return true;
    auto const first = std::ranges::find_if(tokens_, [](TokenStatePtr const& token) { return token->cancelled(); });
    if (first == tokens_.end())
        return false;
    if (!forked())
        cancel_late((*first)->reason());
    return true;
}

} // namespace tenure::locks

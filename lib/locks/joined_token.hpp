// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "engine/token_state.hpp"

#include <tenure/backend/runtime.hpp>
#include <tenure/cancellation_token.hpp>

#include <memory>
#include <vector>

namespace tenure::locks
{

using TokenStatePtr = std::shared_ptr<engine::TokenState>;

/** The state of a token that is cancelled when the first of several tokens is, for the same reason. */
class JoinedToken final : public engine::TokenState
{
public:
    /** @param tokens  of leases: those that are released end what is kept here for them */
    [[nodiscard]] static std::shared_ptr<JoinedToken>
    join(std::shared_ptr<Runtime> runtime, std::vector<TokenStatePtr> tokens);

    JoinedToken(std::shared_ptr<Runtime> runtime, std::vector<TokenStatePtr> tokens);

    [[nodiscard]] bool cancelled() const noexcept override;

private:
    std::vector<TokenStatePtr> tokens_;
};

} // namespace tenure::locks

// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "examine.hpp"

#include <zookeeper/zookeeper.h>

#include <array>
#include <utility>

namespace tenure::zookeeper
{

namespace
{

using namespace std::chrono_literals;

constexpr std::size_t round_trips = 5;
/// the C client gives up a server that has not answered within two thirds of what it asks for
constexpr auto least_timeout = 150ms;

class Examination : public std::enable_shared_from_this<Examination>
{
public:
    Examination(EnsemblePtr ensemble, std::chrono::milliseconds ttl, Deadline not_after, ReplyHandler<Findings> handler)
        : ensemble_(std::move(ensemble))
        , not_after_(not_after)
        , handler_(std::move(handler))
        , session_(ensemble_->looking())
        , use_(session_->use())
    {
        auto const& config = ensemble_->config();
        facts_.ttl = ttl;
        facts_.tick = config.tick;
        facts_.servers = config.servers.size();
        facts_.logged_in = !config.username.empty();
    }

    void start()
    {
        session_->when_connected(not_after_, [self = shared_from_this()](Failure const* why) {
            if (why == nullptr) {
                self->measure();
                return;
            }
            self->facts_.unreachable = why->detail.empty() ? "no time left" : why->detail;
            self->finish();
        });
    }

private:
    // one after the other, so that each is a round trip of its own
    void measure()
    {
        bool const reads = facts_.round_trips.size() < round_trips;
        if (!reads && facts_.writes.size() == round_trips) {
            ask_limits();
            return;
        }
        auto const& chroot = ensemble_->config().chroot;
        session_->ask(
            {reads ? Question::Kind::get : Question::Kind::check, chroot.empty() ? "/" : chroot},
            [self = shared_from_this(), reads](Answer const& answer) {
                if (!is_answered(answer.code)) {
                    self->facts_.unreachable = ::zerror(answer.code);
                    self->finish();
                    return;
                }
                (reads ? self->facts_.round_trips : self->facts_.writes).push_back(answer.answered - answer.sent);
                self->measure();
            });
    }

    void ask_limits()
    {
        ask_limit(least_timeout, facts_.shortest);
        ask_limit(std::chrono::hours(24), facts_.longest);
        ++open_;
        auto const nodes =
            ensemble_->nodes(named_key("tenure-doctor-" + std::to_string(ensemble_->runtime().random())));
        ensemble_->make_parent(
            session_, nodes->parent(), [self = shared_from_this(), path = nodes->path(0)](Answer const& answer) {
                if (answer.code == ZOK || answer.code == ZNODEEXISTS)
                    self->make_generation(path);
                else
                    self->tried(answer);
            });
    }

    void make_generation(std::string const& path)
    {
        // the key of each doctor is another one; its generation need not be
        auto const generation = ensemble_->generation({"tenure-doctor", 0, 1, false}, 0);
        ensemble_->make_generation(
            session_, generation, [self = shared_from_this(), path, generation](Answer const& answer) {
                if (answer.code == ZOK || answer.code == ZNODEEXISTS)
                    self->try_claim(path, generation);
                else
                    self->tried(answer);
            });
    }

    void ask_limit(std::chrono::milliseconds timeout, std::optional<std::chrono::milliseconds>& granted)
    {
        ++open_;
        auto const probe = ensemble_->probe(timeout);
        probe->when_connected(
            not_after_.no_later_than(ensemble_->runtime().now() + 2s),
            [self = shared_from_this(), probe, &granted](Failure const* why) {
                if (why == nullptr)
                    granted = probe->timeout();
                probe->close(true);
                self->close_one();
            });
    }

    void try_claim(std::string const& path, std::string const& generation)
    {
        session_->ask(
            {Question::Kind::claim, path, {}, 0, false, generation},
            [self = shared_from_this(), path](Answer const& created) {
                if (created.code != ZOK) {
                    self->tried(created);
                    return;
                }
                self->session_->ask(
                    {Question::Kind::remove, path}, [self](Answer const& removed) { self->tried(removed); });
            });
    }

    void tried(Answer const& answer)
    {
        if (answer.code != ZOK)
            facts_.refused =
                ensemble_
                    ->failure(
                        answer, answer.of_generation
                                    ? "the generation " + ensemble_->generation({"tenure-doctor", 0, 1, false}, 0)
                                    : "a node of the doctor's own")
                    .detail;
        close_one();
    }

    void close_one()
    {
        if (--open_ == 0)
            finish();
    }

    void finish()
    {
        use_ = nullptr;
        std::move(handler_)(judge(facts_));
    }

    EnsemblePtr ensemble_;
    Deadline not_after_;
    ReplyHandler<Findings> handler_;
    SessionPtr session_;
    Session::Use use_;
    Facts facts_;
    int open_ = 0;
};

} // namespace

void examine(EnsemblePtr ensemble, std::chrono::milliseconds ttl, Deadline not_after, ReplyHandler<Findings> handler)
{
    std::make_shared<Examination>(std::move(ensemble), ttl, not_after, std::move(handler))->start();
}

} // namespace tenure::zookeeper

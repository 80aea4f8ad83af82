// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "stream.hpp"
#include "harness/immovable.hpp"

#include "../process.hpp"

#include <string>
#include <utility>

namespace tenure::simulation
{

namespace
{

class SimulatedStream final : public redis::Stream,
                              public Socket,
                              public std::enable_shared_from_this<SimulatedStream>,
                              test::Immovable
{
public:
    SimulatedStream(ByteNetwork& network, Process& process) noexcept
        : network_(network)
        , process_(process)
    {
    }
    ~SimulatedStream() override { SimulatedStream::close(); }

    // -- for the connection, on the strand --

    void connect(redis::StreamEvents& events, Instant) override
    {
        events_ = &events;
        connection_ = network_.dial(*this, process_.id(), process_.life());
    }

    void read() override
    {
        reading_ = true;
        if (network_.has_input(connection_))
            readable();
    }

    std::size_t write_now(std::string_view bytes) override { return network_.send_now(connection_, bytes); }

    void write(std::string bytes) override
    {
        output_ = std::move(bytes);
        network_.send(connection_, output_);
    }

    void close() noexcept override
    {
        events_ = nullptr;
        if (connection_ != 0)
            network_.close(std::exchange(connection_, 0));
    }

    // -- for the kernel, at any time --

    void dialed(error_code error) override
    {
        process_.on_strand([self = shared_from_this(), error] {
            if (self->events_ != nullptr)
                self->events_->on_connected(explain(error));
        });
    }

    void readable() override
    {
        if (!reading_ || std::exchange(telling_, true))
            return;
        process_.on_strand([self = shared_from_this()] {
            self->telling_ = false;
            if (self->events_ != nullptr)
                self->notify_bytes();
        });
    }

    void sent(error_code error, std::size_t taken) override
    {
        process_.on_strand([self = shared_from_this(), error, taken] {
            if (self->events_ != nullptr)
                self->events_->on_written(explain(error), taken, std::move(self->output_));
        });
    }

private:
    [[nodiscard]] static redis::StreamError explain(error_code error) { return {error, {}, false}; }

    void notify_bytes()
    {
        error_code error;
        input_ = network_.take(connection_, error);
        if (input_.empty() && !error)
            return;
        reading_ = false;
        network_.seen(connection_, input_.size());
        events_->on_read(explain(error), input_);
    }

    ByteNetwork& network_;
    Process& process_;
    /// null once closed
    redis::StreamEvents* events_ = nullptr;
    /// 0: none
    ConnectionId connection_ = 0;
    bool reading_ = false;
    /// a call of `tell_bytes` is on its way
    bool telling_ = false;
    std::string input_;
    std::string output_;
};

} // namespace

std::shared_ptr<redis::Stream> make_stream(ByteNetwork& network, Process& process)
{
    return std::make_shared<SimulatedStream>(network, process);
}

} // namespace tenure::simulation
